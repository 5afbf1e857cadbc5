import { existsSync } from "node:fs";
import { type NatsRole, natsRoles } from "../operator/install/nats-users.ts";
import { randomPassword } from "../operator/install/secret-changes.ts";
import {
	type LocalHome,
	readState,
	writeState,
	writeWhole,
} from "./machine/home.ts";

/** Passwords of one local Tidemill, created at its first start. */
export interface LocalSecrets {
	nats: Record<"admin" | NatsRole, string>;
	s3: { accessKeyId: string; secretAccessKey: string };
}

export function ensureSecrets(home: LocalHome): LocalSecrets {
	// In its own file, as in a cluster.
	for (const file of [home.sealKey, home.consoleKey])
		if (!existsSync(file)) writeWhole(file, `${randomPassword()}\n`);
	const existing = readState<LocalSecrets>(home.secrets);
	if (existing && natsRoles.every((role) => existing.nats[role]))
		return existing;
	const secrets: LocalSecrets = {
		...existing,
		nats: Object.fromEntries(
			[...natsRoles, "admin"].map((user) => [user, randomPassword()]),
		) as LocalSecrets["nats"],
		// A state of an earlier version lacks a role.
		s3: existing?.s3 ?? {
			accessKeyId: "tidemill",
			secretAccessKey: randomPassword(),
		},
	};
	writeState(home.secrets, secrets);
	return secrets;
}

/** The password of a warehouse's server, created at its first start. */
export function passwordOf(home: LocalHome, server: string): string {
	const secrets = readState<Record<string, unknown>>(home.secrets) ?? {};
	const existing = secrets[server];
	if (typeof existing === "string") return existing;
	const password = randomPassword();
	writeState(home.secrets, { ...secrets, [server]: password });
	return password;
}
