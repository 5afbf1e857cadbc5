import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";

/** How to run a program as a child process and how to tell that it is ready. */
export interface ChildProgram {
	/** For log file, progress line and messages. Unique among programs that run together. */
	name: string;
	command: string;
	/** Never secrets: every user of the machine can see arguments. */
	args: string[];
	/** Beyond {@link baseEnvironment}. */
	env: Record<string, string>;
	/** More of it, as it is at each start. */
	currentEnv?: () => Record<string, string>;
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

/** PEM texts for a server with one of our certificates. */
interface ProbeTls {
	ca: string;
	cert?: string;
	key?: string;
}

/** Whether a GET gets a 200 within a second. */
export function answersOk(url: string, tls?: ProbeTls): Promise<boolean> {
	return new Promise((resolve) => {
		const options: RequestOptions = { timeout: 1_000, agent: false };
		const request = tls
			? httpsRequest(url, { ...options, ...tls })
			: httpRequest(url, options);
		request.on("response", (response) => {
			response.resume();
			resolve(response.statusCode === 200);
		});
		request.on("timeout", () => request.destroy());
		request.on("error", () => resolve(false));
		request.on("close", () => resolve(false));
		request.end();
	});
}
