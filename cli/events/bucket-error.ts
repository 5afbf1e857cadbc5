import { CommandError } from "../command/errors.ts";

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
