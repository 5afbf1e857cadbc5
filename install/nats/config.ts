import {
	maxFrameBytes,
	reloadSubject,
	serverStateSubject,
} from "../../contracts/nats.ts";
import {
	type NatsRole,
	type NatsUser,
	natsPermissions,
	natsRoles,
} from "./users.ts";

/**
 * nats-server's configuration, as far as it is the same in a cluster and on one machine. The server's format accepts it as JSON.
 * @param password of each user, or what stands for it.
 */
export function natsConfig(settings: {
	serverName: string;
	listen: string;
	storeDirectory: string;
	password: (user: NatsUser) => string;
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
					...natsRoles.map((role) => user(role, settings.password(role))),
				],
			},
		},
	};
}

function user(role: NatsRole, password: string) {
	const { publish, subscribe, allowResponses } = natsPermissions[role];
	return {
		user: role,
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
