import { Option } from "@commander-js/extra-typings";
import {
	type Destination,
	type DestinationSpec,
	destinationKind,
} from "../crds/generated/types.ts";
import { annotation } from "../crds/labels.ts";
import { shellWord } from "../packages/escapes/shell.ts";
import { bindingText } from "../packages/warehouses/definition/binding.ts";
import { warehouses } from "../packages/warehouses/registry.ts";
import { type Cluster, chooseCluster } from "./command/cluster.ts";
import { UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { print } from "./command/output.ts";
import {
	readSecret,
	secretFileOption,
	secretStdinOption,
	writeSecret,
} from "./provider/secret.ts";
import { askOperator } from "./resource/change.ts";
import {
	createObject,
	defineCreate,
	requireReady,
} from "./resource/creation.ts";
import { withFields } from "./resource/fields.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** `tidemill destinations`. */
export function define(destinations: CommandGroup): void {
	defineVerbs(destinations, destinationKind);
	const create = defineCreate(
		destinations,
		`Create a destination: ${anyOf.format(types.map(({ noun }) => noun))}.`,
	);
	for (const { option } of types) create.addOption(option);
	create
		.addOption(
			new Option(
				"--secret-ref <name>",
				"the Secret with the user and the password, or with the service account's key; it says where a password may go (tidemill.dev/hosts)",
			).conflicts(["secretStdin", "secretFile"]),
		)
		.addOption(secretStdinOption)
		.addOption(secretFileOption)
		.addHelpText(
			...examples(
				...types.map(
					({ cli }) => `tidemill destinations create lake ${cli.example}`,
				),
				"tidemill destinations create lake --postgres postgres://loader@db.example.com/analytics --secret-stdin < password",
			),
		)
		.action(async (name, options, command) => {
			const { set, file, dryRun, wait, output, ...choice } = options;
			const { secretRef, secretStdin, secretFile, ...words } = choice;
			const isKept = secretStdin || secretFile !== undefined;
			const ref = secretRef ?? (isKept ? `${name}-secret` : undefined);
			const spec = specOf(words, ref);
			if (spec && isKept && !keyOf(spec.type) && !userIn(words))
				throw new UsageError(
					"--secret-stdin and --secret-file need the user in the address, such as postgres://loader@db.example.com/analytics",
				);
			if (file === undefined && !set && !spec)
				throw new UsageError(
					`pass ${anyOf.format([...types.map(({ option }) => option.long!), "--file"])}`,
				);
			if (spec && isKept && !dryRun && name !== undefined && !file)
				await keepSecret(
					await chooseCluster(command.optsWithGlobals()),
					{ metadata: { name }, spec: withFields(destinationKind, spec, set) },
					{ ref: ref!, user: userIn(words), secretStdin, secretFile },
				);
			await createObject<Destination>(
				command.optsWithGlobals(),
				destinationKind,
				{ name, spec: spec ?? {}, set, file, dryRun, wait, output },
			);
		});
	destinations
		.command("check")
		.description(
			"Check again that Tidemill can write to the destination, and print the result. The exit code is 1 if it can't.",
		)
		.argument("<destination>")
		.addHelpText(...examples("tidemill destinations check lake"))
		.action(async (name, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const checked = await askOperator<Destination>(
				cluster,
				destinationKind,
				name,
				annotation.check,
				(_, { status }, value) => status?.lastCheck?.request === value,
			);
			print(`${requireReady(checked, name).message}\n`);
		});
}

/** The types of warehouse, each with the option that chooses it. Only one can be used at once. */
const types = [...warehouses].map(([type, definition]) => ({
	type,
	...definition,
	option: new Option(definition.cli.flags, definition.cli.about),
}));
for (const { option } of types)
	option.conflicts(
		types.flatMap((other) =>
			other.option === option ? [] : other.option.attributeName(),
		),
	);

const anyOf = new Intl.ListFormat("en-GB", { type: "disjunction" });

type Words = Readonly<Record<string, string | undefined>>;

/** Undefined if no option says which warehouse. Throws {@link UsageError}. */
export function specOf(
	words: Words,
	secretName: string | undefined,
): DestinationSpec | undefined {
	const chosen = chosenOf(words);
	if (!chosen) {
		if (secretName === undefined) return undefined;
		throw new UsageError("a Secret is for an option that names a warehouse");
	}
	const { type, member, option, cli, secrets } = chosen;
	const word = words[option.attributeName()]!;
	const without = withoutPassword(word);
	if (without !== word)
		throw new UsageError(
			`${option.long} has a password, which stays in the shell's history and which other programs can see. Change it, and pass it from standard input: tidemill destinations create <name> ${option.long} ${shellWord(without)} --secret-stdin < password`,
		);
	if (cli.addressOf && !isEscaped(word))
		throw new UsageError(
			`${option.long} has a "%" that begins no escape of UTF-8. For the sign itself, write %25`,
		);
	const own = cli.specOf(word);
	if (typeof own === "string") throw new UsageError(own);
	const key = keyOf(type);
	const isServer = secrets !== undefined && key === undefined;
	if (isServer && secretName === undefined)
		throw new UsageError(
			`${option.long} needs --secret-ref, or the user in the address and --secret-stdin`,
		);
	if (secretName !== undefined && !secrets)
		throw new UsageError(`${option.long} has no Secret`);
	const secretRef = { name: secretName, ...(key && { key }) };
	return {
		type,
		[member]: { ...own, ...(secretName && { credentials: { secretRef } }) },
	} as unknown as DestinationSpec;
}

function chosenOf(words: Words) {
	return types.find(
		({ option }) => words[option.attributeName()] !== undefined,
	);
}

function keyOf(type: string): string | undefined {
	return types.find((one) => one.type === type)?.cli.secretKey;
}

/** The user that an address names, after {@link specOf} has taken it. */
export function userIn(words: Words): string | undefined {
	const { option, cli } = chosenOf(words) ?? {};
	const url = option && cli?.addressOf?.(words[option.attributeName()]!);
	return url?.username ? decodeURIComponent(url.username) : undefined;
}

/**
 * A word without a password, or the same word. It looks for one in what is no valid address, too: a password has signs that end an
 * address's parts.
 */
function withoutPassword(word: string): string {
	const [scheme = ""] = /^[a-z]+:\/\//i.exec(word) ?? [];
	const rest = word.slice(scheme.length).replace(/:.*@/s, "@");
	return `${scheme}${rest}`.replace(
		/(^|[?&;\s])(ssl)?passw(or)?d\s*=.*$/is,
		"",
	);
}

function isEscaped(word: string): boolean {
	try {
		decodeURIComponent(word);
		return true;
	} catch {
		return false;
	}
}

/** Writes the Secret of a Destination that the cluster would accept, bound to the address that it is for. */
async function keepSecret(
	cluster: Cluster,
	{ metadata, spec }: { metadata: { name: string }; spec: object },
	given: {
		ref: string;
		user: string | undefined;
		secretStdin: boolean | undefined;
		secretFile: string | undefined;
	},
): Promise<void> {
	const secret = (await readSecret(given))!;
	const { client, namespace } = cluster;
	const draft = { metadata: { ...metadata, namespace }, spec } as Destination;
	await client.create(destinationKind, draft, {
		...{ fieldManager: "tidemill", strict: true, dryRun: true },
	});
	const { ref: name, user } = given;
	const key = keyOf(draft.spec.type) ?? "password";
	await writeSecret(cluster, { name, key }, secret, {
		data: user === undefined ? {} : { username: user },
		annotations: boundTo(draft.spec),
	});
}

/** Where the password of a Destination's new Secret may go. */
export function boundTo(spec: DestinationSpec): Record<string, string> {
	const { member, connection } = types.find(({ type }) => type === spec.type)!;
	const own = (spec as unknown as Record<string, object>)[member]!;
	const found = connection?.(own, () => undefined);
	return found && "target" in found
		? { [annotation.hosts]: bindingText(found.target) }
		: {};
}
