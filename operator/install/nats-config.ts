import {
	maxFrameBytes,
	ownAccountProbe,
	reloadSubject,
	serverStateSubject,
} from "../../packages/contracts/nats.ts";
import {
	type NatsRole,
	type NatsUser,
	natsPermissions,
	natsRoles,
	responses,
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
			// It held all users once. A stream can't move to another account.
			[streamsAccount]: {
				jetstream: "enabled",
				...exchange("archive"),
				users: [
					{ user: "admin", password: settings.password("admin") },
					...usersOf("archive", settings.password),
				],
			},
			...Object.fromEntries(
				natsRoles
					.filter((role) => role !== "archive")
					.map((role) => [
						natsAccount(role),
						{ ...exchange(role), users: usersOf(role, settings.password) },
					]),
			),
		},
	};
}

/** The account that holds the streams. */
const streamsAccount = "tidemill";

/** The account of a role's users. */
export function natsAccount(role: NatsRole): string {
	return role === "archive" ? streamsAccount : `tidemill-${role}`;
}

/** What an account offers to other roles' accounts, and what it takes from others: just what the role's users may do there. */
function exchange(role: NatsRole) {
	const exported = new Map<string, string[]>();
	for (const other of natsRoles) {
		for (const subject of importedServices(other))
			if (exporterOf(subject) === role)
				exported.set(subject, [
					...(exported.get(subject) ?? []),
					natsAccount(other),
				]);
	}
	const changes = natsRoles.flatMap((other) =>
		role === "archive"
			? importedStreams(other).map((stream) => ({ other, stream }))
			: [],
	);
	return {
		exports: [
			...[...exported].map(([service, accounts]) => ({
				service,
				accounts,
				...(hasManyAnswers(service) && { response: "stream" }),
			})),
			...[...Map.groupBy(changes, ({ stream }) => stream)].map(
				([stream, found]) => ({
					stream,
					accounts: found.map(({ other }) => natsAccount(other)),
				}),
			),
		],
		imports: [
			...importedServices(role).map((subject) => ({
				service: { account: accountOf(exporterOf(subject)), subject },
			})),
			...importedStreams(role).map((subject) => ({
				stream: { account: streamsAccount, subject },
			})),
		],
	};
}

/** What a role's users may ask for, as far as another account answers. */
function importedServices(role: NatsRole): string[] {
	const asked = natsPermissions[role].publish.allow.filter(
		(subject) =>
			subject !== ownAccountProbe &&
			subject !== responses &&
			exporterOf(subject) !== role,
	);
	// NATS would send a message twice that two imports take.
	return asked.filter(
		(subject) =>
			!asked.some((wide) => wide !== subject && covers(wide, subject)),
	);
}

/** Whether a subject with `*` has all of another one. */
function covers(wide: string, subject: string): boolean {
	const tokens = subject.split(".");
	const wideTokens = wide.split(".");
	return (
		tokens.length === wideTokens.length &&
		wideTokens.every((token, i) => token === "*" || token === tokens[i])
	);
}

function importedStreams(role: NatsRole): string[] {
	return natsPermissions[role].subscribe.filter((subject) =>
		subject.startsWith("tidemill.changes."),
	);
}

/** Who answers. */
function exporterOf(subject: string): NatsRole | "system" {
	if (subject.startsWith("$SYS.")) return "system";
	const answers = (role: NatsRole) =>
		natsPermissions[role].subscribe.includes(subject);
	return (["notify", "receive"] as const).find(answers) ?? "archive";
}

function accountOf(exporter: NatsRole | "system"): string {
	return exporter === "system" ? exporter : natsAccount(exporter);
}

/** NATS takes one answer to a request from another account, unless the export says that more may come. */
function hasManyAnswers(subject: string): boolean {
	return (
		subject.startsWith("tidemill.archive.") ||
		subject.startsWith("$JS.API.DIRECT.GET.") ||
		subject.startsWith("$JS.API.CONSUMER.MSG.NEXT.")
	);
}

/** The name of the configuration's variable that holds a user's password. */
export function passwordVariable(user: NatsUser): string {
	return `NATS_PASSWORD_${user.toUpperCase().replace("-", "_")}`;
}

function usersOf(
	role: NatsRole,
	passwordOf: (user: NatsUser) => string | undefined,
) {
	const { publish, subscribe } = natsPermissions[role];
	return ([role, `${role}-b`] as const).flatMap((user) => {
		const password = passwordOf(user);
		const permissions = { publish, subscribe: { allow: subscribe } };
		return password === undefined ? [] : [{ user, password, permissions }];
	});
}
