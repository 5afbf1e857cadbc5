import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
	type Provider,
	providers,
} from "../../packages/contracts/providers.ts";
import { nearest } from "../../packages/service/nearest.ts";
import { UsageError } from "../command/errors.ts";

/** Also those of examples/senders. Throws {@link UsageError} if there is none of that name. */
export async function providerNamed(name: string): Promise<Provider> {
	const known = providers[name];
	if (known) return known;
	const folder = examplesFolder(import.meta.dirname);
	const file = folder && join(folder, `${name}.yaml`);
	if (file && /^[a-z0-9-]+$/.test(name) && existsSync(file))
		return ofExample(name, await readFile(file, "utf8"));
	const names = Object.keys(providers);
	const meant = nearest(name, names);
	throw new UsageError(
		`there is no provider "${name}".${meant ? ` Did you mean "${meant}"?` : ""} There are ${names.join(", ")}, and those of examples/senders, such as paddle. docs/senders.md says how to describe another`,
	);
}

/** The first lines of such a file are for people: the provider's page, and which secret it is. */
async function ofExample(name: string, text: string): Promise<Provider> {
	const { parse } = await import("yaml");
	const { webhook } = (parse(text) as { spec: { webhook: object } }).spec;
	const [page = "", ...about] = [...text.matchAll(/^# (.*)$/gm)].map(
		([, line = ""]) => line,
	);
	const needsSecret = JSON.stringify(webhook).includes('"name":"provider"');
	return {
		title: name,
		webhook,
		...(needsSecret && { secret: about.join(" ") }),
		paste: `the provider's settings: ${page}`,
	};
}

/** All of them, also those of examples/senders. */
export function providerNames(): string[] {
	const folder = examplesFolder(import.meta.dirname);
	const files = folder ? readdirSync(folder) : [];
	const examples = files.filter((file) => file.endsWith(".yaml"));
	return [
		...Object.keys(providers),
		...examples.map((file) => file.replace(/\.yaml$/, "")),
	];
}

/** The folder beside the code, or above it. */
function examplesFolder(from: string): string | undefined {
	const folder = join(from, "examples/senders");
	if (existsSync(folder)) return folder;
	return dirname(from) === from ? undefined : examplesFolder(dirname(from));
}

/** The `spec.webhook` of a Source whose secret is in the Secret of that name, and whose topics are these. */
export function webhookOf(
	{ webhook }: Provider,
	secretName: string,
	topicARNs: readonly string[] = [],
): object {
	return JSON.parse(
		JSON.stringify(webhook, (key, value) => {
			if (key === "topicARNs") return topicARNs;
			const isSecret = value?.name === "provider" && "key" in value;
			return isSecret ? { ...value, name: secretName } : value;
		}),
	);
}
