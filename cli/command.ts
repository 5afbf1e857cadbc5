import { ApiError } from "../kube/client/client.ts";
import { TransportError } from "../kube/client/errors.ts";
import { SettingError } from "../service/settings.ts";
import { UsageError } from "./command-line.ts";

/** Something didn't go as asked, and the message says why and what to do. */
export class CommandError extends Error {
	override name = "CommandError";
}

interface Action {
	/** What stands behind the action's name. */
	usage: string;
	about: string;
	/** Returns the exit code. */
	run(args: string[]): Promise<number>;
}

/**
 * A command for people that has actions, such as `tidemill sources list`. Exit codes: 0, 1 when it didn't go as asked,
 * 2 when it was typed wrong.
 */
export function command(
	noun: string,
	actions: Record<string, Action>,
): (args: string[]) => Promise<number> {
	const usage = `Usage:\n${Object.entries(actions)
		.map(
			([name, action]) =>
				`  tidemill ${noun} ${name} ${action.usage}\n      ${action.about}\n`,
		)
		.join(
			"",
		)}Each takes --namespace (-n), --context and --kubeconfig, as kubectl does.\n`;
	return async ([name, ...args]) => {
		if (name === "--help" || name === "-h" || args.includes("--help")) {
			process.stdout.write(usage);
			return 0;
		}
		try {
			const action = Object.hasOwn(actions, name ?? "")
				? actions[name!]
				: undefined;
			if (!action)
				throw new UsageError(
					name === undefined ? "say what to do" : `there is no "${name}"`,
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

/** Of errors that a person can do something about; others are thrown on. */
function messageOf(error: unknown): string {
	if (error instanceof TransportError)
		return `the cluster can't be reached: ${error.message}. Check the kubeconfig and the network.`;
	if (
		error instanceof UsageError ||
		error instanceof CommandError ||
		error instanceof SettingError ||
		error instanceof ApiError
	)
		return error.message;
	throw error;
}
