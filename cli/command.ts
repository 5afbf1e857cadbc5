import { ApiError } from "../kube/client/client.ts";
import { TransportError } from "../kube/client/errors.ts";
import { SettingError } from "../service/settings.ts";
import { UsageError } from "./command-line.ts";

/** The command failed. The message says why and what to do. */
export class CommandError extends Error {
	override name = "CommandError";
}

interface Action {
	/** The arguments, as help shows them. */
	usage: string;
	/** What it does, as lines of help. */
	about: string[];
	/** Returns the exit code. */
	run(args: string[]): Promise<number>;
}

/**
 * A command with actions, such as `tidemill sources list`. Exit codes: 0, 1 for a failure, 2 for an invalid command line.
 */
export function command(
	noun: string,
	actions: Record<string, Action>,
): (args: string[]) => Promise<number> {
	const usage = `Usage:\n${Object.entries(actions)
		.map(
			([name, action]) =>
				`  tidemill ${noun} ${name} ${action.usage}\n${action.about.map((line) => `      ${line}\n`).join("")}`,
		)
		.join(
			"",
		)}\n--namespace (-n), --context and --kubeconfig work as in kubectl.\n`;
	return async ([name, ...args]) => {
		if ([name, ...args].some((arg) => arg === "--help" || arg === "-h")) {
			process.stdout.write(usage);
			return 0;
		}
		try {
			const action = Object.hasOwn(actions, name ?? "")
				? actions[name!]
				: undefined;
			if (!action)
				throw new UsageError(
					name === undefined ? "name an action" : `unknown action "${name}"`,
				);
			return await action.run(args);
		} catch (error) {
			const isUsage = error instanceof UsageError;
			const subject = `tidemill ${noun}${name ? ` ${name}` : ""}`;
			process.stderr.write(`${subject}: ${messageOf(error)}\n`);
			if (isUsage) process.stderr.write(usage);
			return isUsage ? 2 : 1;
		}
	};
}

/** The message of an expected error. Throws any other error again. */
function messageOf(error: unknown): string {
	if (error instanceof TransportError)
		return `the cluster is unreachable: ${error.message}. Check the kubeconfig and the network.`;
	if (
		error instanceof UsageError ||
		error instanceof CommandError ||
		error instanceof SettingError ||
		error instanceof ApiError
	)
		return error.message;
	throw error;
}
