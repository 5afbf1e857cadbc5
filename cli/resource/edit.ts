import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { shellWord } from "../../packages/escapes/shell.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { chooseCluster, requireObject, wordsOf } from "../command/cluster.ts";
import { CommandError, UsageError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { nameOf, objectsText, print, remark } from "../command/output.ts";
import { manifestOf, readManifest, type ShownResource } from "./creation.ts";
import { setOption, withFields } from "./fields.ts";

/** `tidemill sources edit`. */
export function defineEdit(
	group: CommandGroup,
	kind: ResourceKind<KubeObject>,
): void {
	const [one] = wordsOf(kind);
	const command = `tidemill ${group.name()} edit example`;
	group
		.command("edit")
		.description(
			`Change one ${one} in your editor (KUBE_EDITOR, VISUAL or EDITOR), or by --set. Only the fields that you change are written.`,
		)
		.argument(`<${one.replace(" ", "-")}>`)
		.addOption(setOption)
		.addHelpText(
			...examples(command, `${command} --set displayName="For people"`),
		)
		.action(async (name: string, { set }, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const found = await requireObject<ShownResource>(cluster, kind, name);
			const { labels, annotations } = found.metadata;
			const before = manifestOf(kind, {
				metadata: {
					name,
					...(labels && { labels }),
					...(annotations && { annotations }),
				},
				spec: found.spec ?? {},
			});
			const write = async (after: ShownResource) => {
				const patch = changesOf(before, after);
				if (Object.keys(patch).length === 0)
					return remark("Nothing is changed.\n");
				const { uid } = found.metadata;
				const body = { ...patch, metadata: { ...patch.metadata, uid } };
				const options = { fieldManager: "tidemill", strict: true };
				const { client, namespace } = cluster;
				await client.patch(kind, name, namespace, body, "merge", options);
				print(`${nameOf(found)} changed\n`);
			};
			if (set)
				await write({ ...before, spec: withFields(kind, before.spec!, set) });
			else await inEditor(kind, before, write);
		});
}

/** The text stays in its file if it can't be saved, so that nobody writes it twice. */
async function inEditor(
	kind: ResourceKind<KubeObject>,
	before: ShownResource,
	write: (after: ShownResource) => Promise<void>,
): Promise<void> {
	const folder = await mkdtemp(join(tmpdir(), "tidemill-edit-"));
	const file = join(folder, `${before.metadata.name}.yaml`);
	const text = await objectsText([before], "yaml", { asList: false });
	await writeFile(file, text, { mode: 0o600 });
	try {
		await run(editorCommand(file));
		// As read, so that only what a person changes differs.
		if ((await readFile(file, "utf8")) === text) await write(before);
		else await write(await readManifest(kind, file));
	} catch (error) {
		remark(`Your text is in ${file}\n`);
		throw error;
	}
	await rm(folder, { recursive: true });
}

/** The command that opens a file in the editor that a person has chosen. cmd.exe knows no single quotes. */
export function editorCommand(
	file: string,
	{ KUBE_EDITOR, VISUAL, EDITOR }: NodeJS.ProcessEnv = process.env,
	platform = process.platform,
): string {
	const isWindows = platform === "win32";
	const own = isWindows ? "notepad" : "vi";
	const word = isWindows ? `"${file}"` : shellWord(file);
	return `${KUBE_EDITOR || VISUAL || EDITOR || own} ${word}`;
}

function run(command: string): Promise<void> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, { shell: true, stdio: "inherit" });
		child.once("error", reject);
		child.once("exit", (code) =>
			code === 0
				? resolve()
				: reject(
						new CommandError(
							`the editor ended with ${code}: ${command}. Set KUBE_EDITOR to another, or use --set.`,
						),
					),
		);
	});
}

type Part = Record<string, unknown>;

/** A merge patch (RFC 7396) of one manifest into another. Throws {@link UsageError} for another name. */
function changesOf(before: ShownResource, after: ShownResource) {
	if (after.metadata.name !== before.metadata.name)
		throw new UsageError(
			`metadata.name is "${after.metadata.name}", but a name can't change: create another, and delete "${before.metadata.name}"`,
		);
	const { labels = {}, annotations = {} } = after.metadata;
	const { labels: oldLabels = {}, annotations: oldAnnotations = {} } =
		before.metadata;
	return patchOf(
		{
			metadata: { labels: oldLabels, annotations: oldAnnotations },
			spec: before.spec ?? {},
		},
		{ metadata: { labels, annotations }, spec: after.spec ?? {} },
	) as { metadata?: object; spec?: object };
}

function patchOf(before: Part, after: Part): Part {
	const patch: Part = {};
	for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
		const [old, now] = [before[name], after[name]];
		if (isDeepStrictEqual(old, now)) continue;
		patch[name] =
			isPart(old) && isPart(now) ? patchOf(old, now) : (now ?? null);
	}
	return patch;
}

function isPart(value: unknown): value is Part {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
