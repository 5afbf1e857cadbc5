/** A program as a value: all that is needed to run it as a child process and to know when it serves. */
export interface Program {
	/** For people: log file, progress line, messages. Unique among those that run together. */
	name: string;
	command: string;
	/** Never a secret: arguments are visible to every user of the machine. */
	args: string[];
	/** Beyond {@link baseEnvironment}. */
	env: Record<string, string>;
	/** True once it can do its work. May be asked again and again; doesn't throw. */
	isReady: () => Promise<boolean>;
	/** Time from SIGTERM to SIGKILL. */
	stopTimeoutMs: number;
}

/** What a child inherits. Not the rest: a person's own AWS keys or KUBECONFIG must not reach a local server. */
export function baseEnvironment(
	env: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
	const names = ["PATH", "HOME", "TMPDIR", "LANG", "TZ", "LOG_LEVEL"];
	return Object.fromEntries(
		names.flatMap((name) => {
			const value = env[name];
			return value === undefined ? [] : [[name, value]];
		}),
	);
}
