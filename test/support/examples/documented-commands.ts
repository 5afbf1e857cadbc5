import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";

const docs = join(import.meta.dirname, "../../../docs");

/** The blocks of a page's section, in their order; `language` is empty for commands. */
export function documentedBlocks(
	page: string,
	title: string,
): { language: string; text: string }[] {
	const text = readFileSync(join(docs, page), "utf8");
	const [, section = ""] = text.split(`# ${title}\n`);
	return [
		...section.split(/^##/m)[0]!.matchAll(/^```(\w*)\n(.*?)^```$/gms),
	].map(([, language, block]) => ({ language: language!, text: block! }));
}

/** The blocks of commands of a page's section, in their order. */
export function documentedCommands(page: string, title: string): string[] {
	return documentedBlocks(page, title)
		.filter(({ language }) => language === "")
		.map(({ text }) => text);
}

/** Runs such a block as an administrator of the cluster types it. Returns what it prints. */
export async function runDocumented(
	block: string,
	kubeconfig: string,
): Promise<string> {
	const { kubectl } = await resolveBinaries(["kubectl"]);
	const bin = await mkdtemp(join(tmpdir(), "commands-"));
	await symlink(kubectl, join(bin, "kubectl"));
	const { stdout } = await promisify(execFile)("bash", ["-ec", block], {
		env: {
			...process.env,
			KUBECONFIG: kubeconfig,
			PATH: `${bin}:${process.env.PATH}`,
		},
	});
	await rm(bin, { recursive: true });
	return stdout;
}
