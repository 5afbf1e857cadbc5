import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { type Source, sourceKind } from "../crds/generated/types.ts";
import { type Cluster, chooseCluster } from "./cluster.ts";
import { CommandError, command } from "./command.ts";
import { readArguments, UsageError } from "./command-line.ts";

const timeoutMs = 30_000;

/** `tidemill events`. */
export const main = command("events", {
	send: {
		usage:
			"<source> (--data <json> | --file <path> | --file -) [--token <token>]",
		about: [
			"Sends an event to a source and prints its event ID. --file - reads standard input.",
			"--token is the token of a source with authorization.",
		],
		run: send,
	},
});

async function send(args: string[]): Promise<number> {
	const { values, positionals } = readArguments(args, ["<source>"], {
		data: { type: "string", short: "d" },
		file: { type: "string", short: "f" },
		token: { type: "string" },
	});
	const body = await readBody(values.data, values.file);
	const url = await webhookURL(await chooseCluster(values), positionals[0]!);
	const response = await post(url, body, values.token);
	const answer = (await response.json()) as {
		event_id?: string;
		error?: { code: string; message: string };
	};
	if (!response.ok || answer.event_id === undefined)
		throw new CommandError(
			answer.error
				? `${answer.error.message} (${answer.error.code})`
				: `the webhook URL answered ${response.status}`,
		);
	process.stdout.write(`${answer.event_id}\n`);
	return 0;
}

async function readBody(
	data: string | undefined,
	file: string | undefined,
): Promise<string | Uint8Array<ArrayBuffer>> {
	if ((data === undefined) === (file === undefined))
		throw new UsageError("pass the event with either --data or --file");
	if (data !== undefined) return data;
	try {
		return new Uint8Array(
			file === "-" ? await buffer(process.stdin) : await readFile(file!),
		);
	} catch (error) {
		throw new CommandError(`cannot read ${file}: ${(error as Error).message}`);
	}
}

async function webhookURL(
	{ client, namespace }: Cluster,
	name: string,
): Promise<string> {
	const source = await client.get<Source>(sourceKind, name, namespace);
	if (!source)
		throw new CommandError(
			`there is no source "${name}" in namespace ${namespace}. List them with: tidemill sources list -n ${namespace}`,
		);
	const { webhookURL } = source.status ?? {};
	if (webhookURL) return webhookURL;
	throw new CommandError(
		`the source "${name}" has no URL yet. Find out why with: kubectl describe source ${name} -n ${namespace}`,
	);
}

async function post(
	url: string,
	body: string | Uint8Array<ArrayBuffer>,
	token: string | undefined,
): Promise<Response> {
	try {
		return await fetch(url, {
			method: "POST",
			// It would send the event elsewhere, perhaps in clear text.
			redirect: "error",
			headers: {
				"content-type": "application/json",
				...(token && { authorization: `Bearer ${token}` }),
			},
			body,
			signal: AbortSignal.timeout(timeoutMs),
		});
	} catch (error) {
		const { message, cause } = error as Error;
		// The URL is a secret, so the message names only the host.
		throw new CommandError(
			`${new URL(url).host} is unreachable: ${(cause as Error | undefined)?.message ?? message}`,
		);
	}
}
