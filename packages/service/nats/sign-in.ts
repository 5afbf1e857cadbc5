import { basename } from "node:path";
import type { Logger } from "../log.ts";
import { filesIn, SecretFiles, withoutLineEnd } from "../secret-files.ts";
import { SettingError, type Settings } from "../settings.ts";

/** A user of NATS. */
interface NatsUser {
	user: string;
	pass: string;
}

/** Whom a process signs in as. */
interface NatsSignIn {
	/** For the next connection; undefined for a NATS without users. */
	readonly user: NatsUser | undefined;
	/** NATS has taken the user. */
	taken(): void;
	/** NATS has refused the user. Returns what to do about it, in words. */
	refused(): string;
	close(): void;
}

/** The user of `NATS_URL`, unless `NATS_USERS_DIR` names a folder of users. Throws {@link SettingError}. */
export function natsSignIn(
	settings: Settings,
	ofUrl: NatsUser | undefined,
	log: Logger,
): NatsSignIn {
	const directory = settings.optional("NATS_USERS_DIR");
	if (directory === undefined)
		return {
			user: ofUrl,
			taken: () => {},
			refused: () =>
				"Correct the user and the password in NATS_URL, and restart this process (in Kubernetes: kubectl rollout restart deployment/<name>).",
			close: () => {},
		};
	if (ofUrl)
		throw new SettingError(
			"NATS_URL has a user, and NATS_USERS_DIR names a folder of users. Leave one of them out.",
		);
	return new UsersOfFolder(directory, log);
}

/**
 * Each file of the folder is a user: its name the user's, its content the password. All users of a folder may do the same.
 * With two, a password can be replaced while the other one is valid: NATS refuses the first, and the process goes on as the
 * second.
 */
class UsersOfFolder implements NatsSignIn {
	readonly #users: SecretFiles<readonly NatsUser[]>;
	readonly #directory: string;
	#user: NatsUser;
	/** NATS may not have read a changed password yet. */
	#lastTaken: NatsUser | undefined;
	/** Those that NATS has refused since it took one last. */
	readonly #refused = new Set<string>();

	constructor(directory: string, log: Logger) {
		this.#directory = directory;
		this.#users = new SecretFiles({
			setting: "NATS_USERS_DIR",
			files: () => filesIn(directory),
			parse: (read, files) => usersOf(directory, files, read),
			log,
		});
		this.#user = this.#users.value[0]!;
	}

	get user(): NatsUser {
		const { user } = this.#user;
		// Its password may have been replaced.
		const found = this.#users.value.find((each) => each.user === user);
		if (found && !this.#isRefused(found)) this.#user = found;
		return this.#user;
	}

	taken(): void {
		this.#lastTaken = this.#user;
		this.#refused.clear();
	}

	refused(): string {
		this.#refused.add(JSON.stringify(this.#user));
		this.#users.refused();
		const users = [...this.#users.value];
		if (this.#lastTaken) users.push(this.#lastTaken);
		let next = users.find((user) => !this.#isRefused(user));
		if (!next) {
			// NATS may take one of them later.
			this.#refused.clear();
			next = users[0]!;
		}
		this.#user = next;
		const names = [...new Set(users.map(({ user }) => user))].join(" and ");
		return `Correct the password of ${names} in the Secret that is mounted at ${this.#directory}: this process reads it again by itself. If it is right, NATS doesn't have it yet: restart NATS (kubectl rollout restart statefulset/<name of NATS's>).`;
	}

	close(): void {
		this.#users.close();
	}

	#isRefused(user: NatsUser): boolean {
		return this.#refused.has(JSON.stringify(user));
	}
}

function usersOf(
	directory: string,
	files: readonly string[],
	read: (file: string) => string,
): readonly NatsUser[] {
	const users = files.flatMap((file) => {
		const pass = withoutLineEnd(textIn(file, read));
		if (pass === "") return [];
		const user = basename(file);
		// Earlier versions took it from a URL, where it had to be percent-encoded.
		const decoded = decodedOf(pass);
		return decoded === pass
			? [{ user, pass }]
			: [
					{ user, pass },
					{ user, pass: decoded },
				];
	});
	if (users.length > 0) return users;
	throw new SettingError(
		`NATS_USERS_DIR is "${directory}", which holds no user. It must name a folder with a file for each user of NATS that this process may sign in as: the file's name is the user's, its content the password.`,
	);
}

function decodedOf(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

function textIn(file: string, read: (file: string) => string): string {
	try {
		return read(file);
	} catch (error) {
		throw new SettingError(
			`NATS_USERS_DIR has the file "${file}", which can't be read (${(error as Error).message}).`,
		);
	}
}
