import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Option } from "@commander-js/extra-typings";
import { label } from "../../crds/labels.ts";
import { hasReason } from "../../packages/kube/client/errors.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import type { Cluster } from "../command/cluster.ts";
import { CommandError, UsageError } from "../command/errors.ts";
import { ask } from "../command/question.ts";

export const secretStdinOption = new Option(
	"--secret-stdin",
	"read the secret from standard input",
);
export const secretFileOption = new Option(
	"--secret-file <path>",
	"read the secret from a file",
).conflicts("secretStdin");

/**
 * The secret that a person passes, without the line feed that `echo` and editors add. Undefined if there is none yet: some
 * providers show it only once they have the URL. Throws {@link CommandError} for an empty one.
 */
export async function readSecret(
	{
		secretStdin,
		secretFile,
	}: { secretStdin?: boolean | undefined; secretFile?: string | undefined },
	question?: string,
): Promise<string | undefined> {
	if (!secretStdin && secretFile === undefined) {
		if (question === undefined || !process.stdin.isTTY) return undefined;
		return (await ask(question, { isHidden: true })) || undefined;
	}
	const from = secretStdin ? "standard input" : secretFile!;
	const given = secretStdin
		? await text(process.stdin)
		: await readFile(secretFile!, "utf8");
	const secret = given.replace(/\r?\n$/, "");
	if (secret.trim() === "")
		throw new CommandError(`the secret from ${from} is empty`);
	return secret;
}

/** Writes a Secret that Tidemill may read. Throws {@link CommandError} if it is there, unless it may be replaced. */
export async function writeSecret(
	{ client, namespace }: Cluster,
	{ name, key }: { name: string; key: string },
	value: string,
	{ replace = false, dryRun = false } = {},
): Promise<void> {
	const labels = { [label.use]: "true" };
	const data = { [key]: Buffer.from(value).toString("base64") };
	const options = { fieldManager: "tidemill", ...(dryRun && { dryRun }) };
	try {
		await client.create<Secret>(
			kinds.secret,
			{ metadata: { name, namespace, labels }, type: "Opaque", data },
			options,
		);
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
		if (!replace)
			throw new CommandError(
				`there already is a Secret "${name}" in namespace ${namespace}. Use it: --secret-ref ${name}. Or delete it: kubectl delete secret ${name} -n ${namespace}`,
			);
		const body = { metadata: { labels }, data };
		await client.patch<Secret>(
			kinds.secret,
			name,
			namespace,
			body,
			"merge",
			options,
		);
	}
}

/** Throws {@link UsageError} unless one is passed. */
export function requireSecret(secret: string | undefined): string {
	if (secret !== undefined) return secret;
	throw new UsageError("pass the secret with --secret-stdin or --secret-file");
}
