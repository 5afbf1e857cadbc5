import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import type { Home } from "./home/home.ts";
import { readState, writeState, writeWhole } from "./home/state-file.ts";
import { type NatsRole, natsRoles } from "./servers/nats-users.ts";

/** Passwords of one local Tidemill, created at its first start. */
export interface Secrets {
	nats: Record<NatsRole | "admin", string>;
	s3: { accessKeyId: string; secretAccessKey: string };
}

export function ensureSecrets(home: Home): Secrets {
	// In its own file, as in a cluster.
	if (!existsSync(home.sealKey)) writeWhole(home.sealKey, `${random()}\n`);
	const existing = readState<Secrets>(home.secrets);
	if (existing) return existing;
	const secrets: Secrets = {
		nats: Object.fromEntries(
			[...natsRoles, "admin"].map((user) => [user, random()]),
		) as Secrets["nats"],
		s3: { accessKeyId: "tidemill", secretAccessKey: random() },
	};
	writeState(home.secrets, secrets);
	return secrets;
}

function random(): string {
	return randomBytes(24).toString("hex");
}
