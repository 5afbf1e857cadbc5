/** How to run a program as a child process and how to tell that it is ready. */
export interface Program {
	/** For log file, progress line and messages. Unique among programs that run together. */
	name: string;
	command: string;
	/** Never secrets: every user of the machine can see arguments. */
	args: string[];
	/** Beyond {@link baseEnvironment}. */
	env: Record<string, string>;
	/** Whether the program can do its work. Never throws. */
	isReady: () => Promise<boolean>;
	/** Time from SIGTERM to SIGKILL. */
	stopTimeoutMs: number;
}

/** The variables that a child inherits. A person's own AWS keys or KUBECONFIG must not reach a local server. GOGC: tests have it. */
export function baseEnvironment(
	env: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
	const names = [
		...["PATH", "HOME", "TMPDIR", "LANG", "TZ", "LOG_LEVEL", "GOGC"],
		// A collector of traces is never here by accident, and gets nothing secret.
		...["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER"],
		"OTEL_TRACES_SAMPLER_ARG",
	];
	return Object.fromEntries(
		names.flatMap((name) => {
			const value = env[name];
			return value === undefined ? [] : [[name, value]];
		}),
	);
}
