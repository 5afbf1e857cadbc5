import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";

/** Runs a block of commands of a page as an administrator of the cluster types it. Returns what it prints. */
export async function runDocumented(
	block: string,
	kubeconfig: string,
): Promise<string> {
	const { kubectl } = await resolveBinaries(["kubectl"]);
	const bin = await mkdtemp(join(tmpdir(), "commands-"));
	await symlink(kubectl, join(bin, "kubectl"));
	const { stdout } = await promisify(execFile)(
		"bash",
		["-eo", "pipefail", "-c", block],
		{
			env: {
				...process.env,
				KUBECONFIG: kubeconfig,
				PATH: `${bin}:${process.env.PATH}`,
			},
		},
	);
	await rm(bin, { recursive: true });
	return stdout;
}
