import { ApiError, TransportError } from "../../packages/kube/client/errors.ts";
import { SettingError } from "../../packages/service/settings.ts";

/** The command line is invalid. The message says how to correct it. */
export class UsageError extends Error {
	override name = "UsageError";
}

/** The command failed. The message says why and what to do. */
export class CommandError extends Error {
	override name = "CommandError";
}

/** There is no usable kubeconfig. */
export class NoKubeconfig extends CommandError {}

/** The message of an error that a person can solve; undefined for any other error. */
export function messageOf(error: unknown): string | undefined {
	if (error instanceof TransportError)
		return `the cluster is unreachable: ${error.message}. Check the kubeconfig and the network.`;
	if (
		error instanceof UsageError ||
		error instanceof CommandError ||
		error instanceof SettingError ||
		error instanceof ApiError
	)
		return error.message;
	return undefined;
}
