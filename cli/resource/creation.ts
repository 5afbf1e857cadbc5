import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Option } from "@commander-js/extra-typings";
import { shellWord } from "../../packages/escapes/shell.ts";
import { rawNumber } from "../../packages/json/json-reader.ts";
import {
	type Condition,
	findCondition,
} from "../../packages/kube/conditions.ts";
import {
	apiVersionOf,
	type KubeObject,
	type ResourceKind,
} from "../../packages/kube/resource.ts";
import { awaitObject } from "../../packages/kube/watch/object-wait.ts";
import { type Cluster, chooseCluster } from "../command/cluster.ts";
import { CommandError, UsageError } from "../command/errors.ts";
import {
	type ClusterOptions,
	type CommandGroup,
	examples,
} from "../command/group.ts";
import { untilInterrupted } from "../command/interrupt.ts";
import { nameOf, objectsText, print } from "../command/output.ts";
import { setOption, withFields } from "./fields.ts";
import { lostUntilMended, ProgressLines } from "./follower.ts";

const readyWaitMs = 60_000;

const fileOption = new Option(
	"-f, --file <manifest>",
	"a manifest in YAML or JSON, in place of the other options; - is standard input",
);
const dryRunOption = new Option("--dry-run", "only let the cluster check it");
const readyOption = new Option(
	"-w, --wait",
	"wait until it is ready, for a minute at most; the exit code is 1 if it isn't",
);
const createdOption = new Option(
	"-o, --output <format>",
	"print the object instead; with --dry-run, the manifest that kubectl apply takes",
).choices(["json", "yaml", "name"] as const);

export type ShownResource = KubeObject & {
	spec?: object;
	status?: { conditions?: Condition[]; observedGeneration?: number };
};

interface Creation {
	name: string | undefined;
	/** What the options say. */
	spec: object;
	set?: string[] | undefined;
	file?: string | undefined;
	dryRun?: boolean | undefined;
	wait?: boolean | undefined;
	output?: "json" | "yaml" | "name" | undefined;
	/** What was created before it, and stands before it in the manifests of a dry run. */
	before?: readonly ShownResource[];
	/** What is enough for `wait` although it isn't ready. */
	isEnough?: (seen: ShownResource) => boolean;
}

/** `create` of a kind, with what every kind's takes. What a kind has beside it comes before. */
export function defineCreate(group: CommandGroup, description: string) {
	return group
		.command("create")
		.description(description)
		.argument("[name]")
		.addOption(setOption)
		.addOption(fileOption)
		.addOption(dryRunOption)
		.addOption(readyOption)
		.addOption(createdOption);
}

/** Of a kind that has no options of its own. */
export function definePlainCreate(
	group: CommandGroup,
	kind: ResourceKind<ShownResource>,
	{ description, example }: { description: string; example: string },
): void {
	defineCreate(group, description)
		.addHelpText(...examples(`tidemill ${group.name()} create ${example}`))
		.action(async (name, options, command) => {
			const creation = { name, spec: {}, ...options };
			await createObject(command.optsWithGlobals(), kind, creation);
		});
}

/** Creates an object from a manifest, or from a name and a spec, and prints its name. Returns it as last seen. */
export async function createObject<T extends ShownResource>(
	options: ClusterOptions,
	kind: ResourceKind<T>,
	creation: Creation,
): Promise<T> {
	const { metadata, ...draft } = await draftOf(kind, creation, options);
	const cluster = await chooseCluster({
		...options,
		...namespaceIn(metadata, options),
	});
	const { client, namespace } = cluster;
	const created = await client.create<T>(
		kind,
		{ ...draft, metadata: { ...metadata, namespace } } as never,
		{
			fieldManager: "tidemill",
			strict: true,
			...(creation.dryRun && { dryRun: true }),
		},
	);
	const { dryRun, output, wait, before = [] } = creation;
	const say = async (object: T) => {
		const manifests = dryRun
			? [...before, manifestOf(kind, { ...draft, metadata })]
			: [object];
		const text = output && (await manifestsText(manifests, output));
		print(text ?? `${nameOf(object)} created${dryRun ? " (dry run)" : ""}\n`);
		return object;
	};
	if (!wait || dryRun) return say(created);
	// What is printed for programs is printed once, as it is in the end.
	if (output === undefined) await say(created);
	const ready = await awaitReady(cluster, kind, created, creation.isEnough);
	return output === undefined ? ready : say(ready);
}

/** In YAML a document for each, as people keep them. */
export async function manifestsText(
	manifests: readonly ShownResource[],
	format: "json" | "yaml" | "name",
): Promise<string> {
	if (format !== "yaml")
		return objectsText(manifests, format, { asList: manifests.length > 1 });
	const texts = manifests.map((each) =>
		objectsText([each], "yaml", { asList: false }),
	);
	return (await Promise.all(texts)).join("---\n");
}

/** What people keep in Git: what they said, without the cluster's defaults. */
export function manifestOf(
	kind: ResourceKind<KubeObject>,
	{ spec, metadata }: ShownResource,
): ShownResource {
	return {
		apiVersion: apiVersionOf(kind),
		kind: kind.kind,
		metadata,
		...(spec && { spec }),
	};
}

/**
 * Waits until the operator has checked the object, and says meanwhile why it isn't ready. Throws {@link CommandError} unless it
 * becomes ready: at once, if waiting can't fix what is wrong.
 */
async function awaitReady<T extends ShownResource>(
	{ client }: Cluster,
	kind: ResourceKind<T>,
	object: T,
	isEnough: (seen: ShownResource) => boolean = () => false,
): Promise<T> {
	const called = nameOf(object);
	const lines = new ProgressLines();
	const isLost = await lostUntilMended();
	const isSettled = (seen: T) => {
		const ready = readyOf(seen);
		if (ready?.status === "True" || isEnough(seen) || isLost(seen)) return true;
		if (ready)
			lines.say(
				{ [kind.kind.toLowerCase()]: object.metadata.name, ...factsOf(ready) },
				`Waiting for ${called}: ${ready.message} (${ready.reason})`,
			);
		return false;
	};
	const { name, namespace } = object.metadata;
	const last = await untilInterrupted(
		`${called} is created, and becomes ready without this command. See: kubectl describe ${kind.kind.toLowerCase()} ${name} -n ${namespace}`,
		awaitObject(
			client,
			kind,
			object,
			isSettled,
			AbortSignal.timeout(readyWaitMs),
		),
	);
	if (!isEnough(last ?? object)) requireReady(last ?? object);
	return last ?? object;
}

function factsOf({ reason, message }: Condition) {
	return { ready: false, reason, message };
}

/** The manifest's own namespace counts, as in kubectl. Throws {@link UsageError} if `-n` names another. */
function namespaceIn(
	{ namespace }: ShownResource["metadata"],
	options: ClusterOptions,
): ClusterOptions {
	if (namespace === undefined) return {};
	if (options.namespace && options.namespace !== namespace)
		throw new UsageError(
			`--namespace is "${options.namespace}", but the manifest is for "${namespace}"; use the same`,
		);
	return { namespace };
}

async function draftOf(
	kind: ResourceKind<ShownResource>,
	{ name, spec, set, file }: Creation,
	{ namespace }: ClusterOptions,
): Promise<ShownResource> {
	if (file !== undefined) {
		if (name !== undefined || set || Object.keys(spec).length > 0)
			throw new UsageError(
				"--file has the name and all settings; use it alone",
			);
		return readManifest(kind, file);
	}
	if (name === undefined) throw new UsageError("pass a name, or --file");
	return {
		metadata: { name, ...(namespace && { namespace }) },
		spec: withFields(kind, spec, set),
	};
}

/** The object that a manifest holds. Throws {@link CommandError} if it is of another kind. */
export async function readManifest(
	{ kind }: ResourceKind<KubeObject>,
	file: string,
): Promise<ShownResource> {
	// yaml: reads the manifests that people write. Loaded late, because it costs every other command.
	const { parse, parseAllDocuments } = await import("yaml");
	let manifest: ShownResource | null;
	try {
		const content =
			file === "-" ? await text(process.stdin) : await readFile(file, "utf8");
		if (parseAllDocuments(content).length > 1)
			throw new CommandError(
				`${file} has several documents. Create them all with: kubectl apply -f ${shellWord(file)}`,
			);
		manifest = parse(content, exactInteger, { intAsBigInt: true });
	} catch (error) {
		if (error instanceof CommandError) throw error;
		throw new CommandError(`cannot read ${file}: ${(error as Error).message}`);
	}
	if (manifest?.kind !== kind || !manifest.spec)
		throw new CommandError(
			`${file} is not the manifest of a ${kind}: its kind is "${manifest?.kind}".`,
		);
	return manifest;
}

/** Kubernetes holds integers of 64 bits, of which JavaScript would change some. */
function exactInteger(_: unknown, value: unknown): unknown {
	if (typeof value !== "bigint") return value;
	const number = Number(value);
	return BigInt(number) === value ? number : rawNumber(String(value));
}

type CheckedObject = KubeObject & { status?: { conditions?: Condition[] } };

/** The Ready condition of an object that is ready. Throws {@link CommandError} with the reason of one that isn't. */
export function requireReady(
	object: CheckedObject,
	called = nameOf(object),
): Condition {
	const ready = readyOf(object);
	if (ready?.status === "True") return ready;
	throw new CommandError(
		ready
			? `${called} isn't ready: ${ready.message} (${ready.reason})`
			: `${nameOf(object)} has no status yet. See: kubectl describe ${nameOf(object)} -n ${object.metadata.namespace}`,
	);
}

function readyOf({ status }: CheckedObject): Condition | undefined {
	return findCondition(status?.conditions, "Ready");
}
