import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";

/** Runs helm and returns what it prints. Throws what it complains about. */
export async function helm(...args: string[]): Promise<string> {
	const { helm: command } = await resolveBinaries(["helm"]);
	try {
		const { stdout } = await promisify(execFile)(command, args, {
			maxBuffer: 64 * 1024 * 1024,
		});
		return stdout;
	} catch (error) {
		const { stdout, stderr } = error as { stdout: string; stderr: string };
		throw new Error(`helm ${args[0]}: ${stdout}${stderr}`);
	}
}
