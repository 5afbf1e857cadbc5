import type { NatsConnection } from "@nats-io/transport-node";
// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Gauge, type Registry } from "prom-client";
import { ownAccountProbe } from "../contracts/nats.ts";
import type { Logger } from "../service/log.ts";
import { mayNotAsk, onReconnect } from "../service/nats/connection.ts";

/**
 * Whether the connection's user is in an account of its own, which imports what its role needs. In the account that holds the
 * streams, as all users were once, JetStream answers the probe. Throws when NATS doesn't answer.
 */
export async function isInOwnAccount(
	nats: NatsConnection,
	timeout = 5_000,
): Promise<boolean> {
	try {
		// Beyond the last stream, so that the answer is short.
		await nats.request(ownAccountProbe, '{"offset":1000000}', {
			timeout,
		});
		return false;
	} catch (error) {
		if (!mayNotAsk(error)) throw error;
		return true;
	}
}

/** A role that begins, and to whom it tells what is wrong with its account. */
interface AccountWatch {
	role: string;
	registry: Registry;
	log: Logger;
	/** Gets what each look has found. */
	onLook?(isOwn: boolean): void;
}

/** Says at the start, and after each reconnect, if the role's account is missing. The role works without it. */
export async function warnOfSharedAccount(
	nats: NatsConnection,
	{ role, registry, log, onLook }: AccountWatch,
): Promise<void> {
	const missing = accountMetric(registry);
	const look = async () => {
		// It is a warning alone: what the role does asks again.
		const isOwn = await isInOwnAccount(nats).catch(() => undefined);
		if (isOwn === undefined) return;
		missing.set({ role }, isOwn ? 0 : 1);
		onLook?.(isOwn);
		if (!isOwn)
			log.warn(
				{ account: `tidemill-${role}` },
				`NATS has no account tidemill-${role} yet: the user of ${role} is in the account that holds the streams, as in earlier versions, so who has its password can reach other roles' streams. Give NATS the accounts of files/nats.conf (docs/install.md, "Your own NATS").`,
			);
	};
	void onReconnect(nats, () => void look());
	await look();
}

export function accountMetric(registry: Registry): Gauge {
	return new Gauge({
		name: "tidemill_nats_account_missing",
		help: "1 while NATS has no account for the role, whose user is then in the account that holds the streams; else 0. Absent until NATS has answered, and for an operator that doesn't lead.",
		labelNames: ["role"],
		registers: [registry],
	});
}
