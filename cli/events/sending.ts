import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { unless } from "../../packages/kube/client/errors.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "../command/cluster.ts";
import { CommandError, UsageError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { print } from "../command/output.ts";
import { mayBeUsed } from "../provider/secret.ts";

const timeoutMs = 30_000;

/** `tidemill events send` and `tidemill sources send` are the same. */
export function defineSend(group: CommandGroup): void {
	group
		.command("send")
		.description("Send an event to a source and print its event ID.")
		.argument("<source>")
		.option("-d, --data <json>", "the event itself")
		.option("-f, --file <path>", "a file with the event; - is standard input")
		.option(
			"--token <token>",
			"the token of a source with authorization, unless you may read its secret",
		)
		.addHelpText(
			...examples(
				`tidemill ${group.name()} send shop --data '{"order": 1}'`,
				`tidemill ${group.name()} send shop --file - < order.json`,
			),
		)
		.action(async (source, { data, file, token }, command) => {
			const body = await readBody(data, file);
			const cluster = await chooseCluster(command.optsWithGlobals());
			const found = await requireObject<Source>(cluster, sourceKind, source);
			await send(
				webhookURL(cluster, found),
				body,
				token ?? (await ownToken(cluster, found)),
			);
		});
}

async function send(
	url: string,
	body: string | Uint8Array<ArrayBuffer>,
	token: string | undefined,
): Promise<void> {
	const response = await post(url, body, token);
	// A proxy on the way may answer with a page of its own.
	const answer = (await response.json().catch(() => undefined)) as
		| { event_id?: string; error?: { code: string; message: string } }
		| undefined;
	// A Source can have an answer of its own.
	const id = answer?.event_id ?? response.headers.get("tidemill-event-id");
	if (!response.ok || !id)
		throw new CommandError(
			answer?.error
				? `${answer.error.message} (${answer.error.code})`
				: `the webhook URL answered ${response.status}`,
		);
	print(`${id}\n`);
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

/** The token of the Source's Secret, if it wants one and the person may read it. */
async function ownToken(
	{ client, namespace }: Cluster,
	{ spec }: Source,
): Promise<string | undefined> {
	const { name, key } =
		spec?.webhook?.authorization?.customToken?.secretRef ?? {};
	if (!name || !key) return undefined;
	const reading = client.get(kinds.secret, name, namespace);
	const secret = await unless(reading, "Forbidden");
	if (secret && !mayBeUsed(secret.metadata))
		throw new CommandError(
			`the Secret "${name}", which the source names, lacks the label ${label.use}=true, so what it holds goes nowhere. Label it if it is for this source, or pass the token with --token`,
		);
	const content = secret?.data?.[key];
	return content && Buffer.from(content, "base64").toString();
}

function webhookURL(
	{ namespace }: Cluster,
	{ metadata, status }: Source,
): string {
	if (status?.webhookURL) return status.webhookURL;
	const { name } = metadata;
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
