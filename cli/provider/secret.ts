import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Option } from "@commander-js/extra-typings";
import type { SourceWebhook } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { signingSecretFault } from "../../crds/signing-secret.ts";
import { hasReason } from "../../packages/kube/client/errors.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import { withoutLineEnd } from "../../packages/service/secret-files.ts";
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

/**
 * Writes a Secret that Tidemill may read. Throws {@link CommandError} if it is there, unless it may be replaced; and in any case for one
 * that isn't a Source's, since whoever may edit Sources chose its name.
 */
export async function writeSecret(
	{ client, namespace }: Cluster,
	{ name, key }: { name: string; key: string },
	value: string,
	{
		replace = false,
		data: others = {},
		annotations = {},
	}: {
		replace?: boolean;
		data?: Record<string, string>;
		annotations?: Record<string, string>;
	} = {},
): Promise<void> {
	const labels = { [label.use]: "true" };
	const data = Object.fromEntries(
		Object.entries({ ...others, [key]: value }).map(([key, value]) => [
			key,
			Buffer.from(value).toString("base64"),
		]),
	);
	const options = { fieldManager: "tidemill" };
	try {
		await client.create<Secret>(
			kinds.secret,
			{
				metadata: { name, namespace, labels, annotations },
				...{ type: "Opaque", data },
			},
			options,
		);
	} catch (error) {
		if (!hasReason(error, "AlreadyExists")) throw error;
		if (!replace)
			throw new CommandError(
				`there already is a Secret "${name}" in namespace ${namespace}. Use it: --secret-ref ${name}. Or delete it: kubectl delete secret ${name} -n ${namespace}`,
			);
		const found = await client.get<Secret>(kinds.secret, name, namespace);
		const problem = found && foreignSecret(found);
		if (problem)
			throw new CommandError(
				`the Secret "${name}" in namespace ${namespace} ${problem}. Whoever may edit the source chose it, so nothing was written`,
			);
		// The one that was looked at: its label may go, or another take its place.
		const { uid, resourceVersion } = found?.metadata ?? {};
		const body = { metadata: { uid, resourceVersion }, data };
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

/** What a Secret of a Source has in its key. Throws {@link CommandError} if it isn't there, or isn't a Source's. */
export async function secretIn(
	{ client, namespace }: Cluster,
	{ name, key }: { name: string; key: string },
): Promise<string> {
	const found = await client.get<Secret>(kinds.secret, name, namespace);
	const value = found?.data?.[key];
	const problem = found
		? (foreignSecret(found) ?? (value ? undefined : `lacks the key "${key}"`))
		: "doesn't exist";
	if (problem)
		throw new CommandError(
			`the Secret "${name}" in namespace ${namespace} ${problem}`,
		);
	return withoutLineEnd(Buffer.from(value!, "base64").toString());
}

/** Why a Secret isn't for the secret of a Source; undefined if it is. */
function foreignSecret({ metadata, data = {} }: Secret): string | undefined {
	if (!mayBeUsed(metadata))
		return `lacks the label ${label.use}=true, so it isn't for Tidemill. If it is for this source, label it: kubectl label secret ${metadata.name} ${label.use}=true -n ${metadata.namespace}`;
	if (metadata.labels?.[label.issuedFor])
		return "holds the keys of a webhook URL";
	const isLogin = ["username", "host", "url"].some((key) => key in data);
	return isLogin ? "holds the user or the address of a server" : undefined;
}

export function mayBeUsed({ labels }: Secret["metadata"]): boolean {
	return labels?.[label.use] === "true";
}

/** Throws {@link UsageError} unless one is passed. */
export function requireSecret(secret: string | undefined): string {
	if (secret !== undefined) return secret;
	throw new UsageError("pass the secret with --secret-stdin or --secret-file");
}

/** Throws {@link CommandError} for what can't be the signing secret of a Source with these settings. */
export function requireSigningSecret(
	webhook: Partial<SourceWebhook> = {},
	secret: string,
): void {
	const { signature } = webhook.authorization ?? {};
	const fault =
		signature?.secretRefs && signingSecretFault(signature.scheme, secret);
	if (fault) throw new CommandError(`the secret ${fault}`);
}
