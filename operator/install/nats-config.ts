import {
	maxFrameBytes,
	reloadSubject,
	serverStateSubject,
} from "../../packages/contracts/nats.ts";
import {
	type NatsRole,
	type NatsUser,
	natsPermissions,
	natsRoles,
} from "./nats-users.ts";

/**
 * nats-server's configuration, as far as it is the same in a cluster and on one machine. The server's format accepts it as JSON.
 * @param password of each user, or what stands for it; undefined for one that there isn't.
 */
export function natsConfig(settings: {
	serverName: string;
	listen: string;
	storeDirectory: string;
	password: (user: NatsUser) => string | undefined;
}) {
	return {
		server_name: settings.serverName,
		listen: settings.listen,
		// The headers of a message count as well.
		max_payload: maxFrameBytes + 64 * 1024,
		jetstream: {
			store_dir: settings.storeDirectory,
			// An acknowledged event is on the disk. The default may take two minutes.
			sync_interval: "always",
		},
		system_account: "system",
		accounts: {
			system: {
				exports: [
					{ service: serverStateSubject, response: "stream" },
					{ service: reloadSubject("*") },
				],
			},
			tidemill: {
				jetstream: "enabled",
				imports: [
					{ service: { account: "system", subject: serverStateSubject } },
					{ service: { account: "system", subject: reloadSubject("*") } },
				],
				users: [
					{ user: "admin", password: settings.password("admin") },
					...natsRoles.flatMap((role) =>
						([role, `${role}-b`] as const).flatMap((name) => {
							const password = settings.password(name);
							return password === undefined ? [] : [user(name, role, password)];
						}),
					),
				],
			},
		},
	};
}

/** The name of the configuration's variable that holds a user's password. */
export function passwordVariable(user: NatsUser): string {
	return `NATS_PASSWORD_${user.toUpperCase().replace("-", "_")}`;
}

function user(name: NatsUser, role: NatsRole, password: string) {
	const { publish, subscribe, allowResponses } = natsPermissions[role];
	return {
		user: name,
		password,
		permissions: {
			publish,
			subscribe: { allow: subscribe },
			...(allowResponses && {
				// The notices before an answer count, too.
				allow_responses: { max: 1_000, expires: "15m" },
			}),
		},
	};
}
