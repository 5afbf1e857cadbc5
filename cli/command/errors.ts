import {
	KubeApiError,
	TransportError,
} from "../../packages/kube/client/errors.ts";
import { SettingError } from "../../packages/service/settings.ts";
import { howToPermit, missingRight } from "./permission.ts";

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
export async function messageOf(error: unknown): Promise<string | undefined> {
	if (error instanceof TransportError)
		return `the cluster is unreachable: ${error.message}. Check the kubeconfig and the network.`;
	if (
		error instanceof UsageError ||
		error instanceof CommandError ||
		error instanceof SettingError
	)
		return error.message;
	if (error instanceof KubeApiError) return apiErrorText(error);
	// A file or a folder that can't be read or written. Node's message names it and says why.
	const { code, syscall, message } = error as NodeJS.ErrnoException;
	// The npm package has no DuckDB, whose library is larger than all else.
	if (code === "ERR_MODULE_NOT_FOUND" && message.includes("@duckdb/node-api"))
		return "DuckDB isn't installed beside this command. Install it, without --global if Tidemill's package is in a project: npm install --global @duckdb/node-api";
	return syscall === undefined ? undefined : message;
}

/** What the apiserver refuses, with the fields by their names and the patterns in words. */
async function apiErrorText(error: KubeApiError): Promise<string> {
	const { status, message, details } = error;
	if (status === 404 && !(details as { name?: string } | undefined)?.name)
		return `${message}. This cluster may lack Tidemill's resources: tidemill doctor`;
	if (status === 401) return `${message}. ${howToSignIn()}`;
	const right = status === 403 ? missingRight(message) : undefined;
	if (right) return `${message.replace(/\.$/, "")}. ${howToPermit(right)}`;
	if (status !== 400 && status !== 422) return message;
	// Loaded only now: it knows the patterns of all warehouses.
	const { refusedFields } = await import("../../api/http/refused-fields.ts");
	const causes = refusedFields(error);
	if (causes.length === 0) return message;
	const { kind = "object", name } = (details ?? {}) as {
		kind?: string;
		name?: string;
	};
	return [
		`the ${kind}${name ? ` "${name}"` : ""} is invalid:`,
		...causes.map(({ path, message }) => `  ${path && `${path}: `}${message}`),
	].join("\n");
}

function howToSignIn(): string {
	const home = process.env.TIDEMILL_HOME;
	return home
		? `The cluster doesn't know the kubeconfig's user. For that of the local Tidemill: source ${home}/env`
		: "The cluster doesn't know the kubeconfig's user, or no longer. Get new credentials the way you got these, or choose another context: kubectl config get-contexts";
}

/** Why bytes didn't come or go by a link, which is a secret. An error of the network is the cause of what `fetch` throws. */
export function transferFailed(
	work: string,
	{ cause, message }: Error,
): CommandError {
	const reason =
		cause instanceof Error
			? `${cause.message}. The link leads to the bucket's endpoint, which this machine must reach`
			: message;
	return new CommandError(`${work} failed: ${reason}. Repeat the command.`);
}
