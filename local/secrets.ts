import { randomBytes } from "node:crypto";
import type { Home } from "./home.ts";
import { type NatsRole, natsRoles } from "./servers/nats-users.ts";
import { readState, writeState } from "./state-file.ts";

/** Passwords of one local Tidemill, made at its first start. */
export interface Secrets {
	nats: Record<NatsRole | "admin", string>;
	s3: { accessKeyId: string; secretAccessKey: string };
}

export function ensureSecrets(home: Home): Secrets {
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
