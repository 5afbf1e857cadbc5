import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { inject } from "vitest";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";

/**
 * Runs kubectl as a person would, against the control plane of the integration tests (as its administrator, unless the
 * arguments name another `--kubeconfig`). Never throws for what kubectl says: that is in the answer.
 */
export async function kubectl(
	args: string[],
	stdin = "",
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
	const { kubectl: command } = await resolveBinaries(["kubectl"]);
	const child = spawn(command, args, {
		env: { ...process.env, KUBECONFIG: inject("kubeconfig") },
	});
	// One that reads no input may have ended before this. Its exit code says how.
	child.stdin.on("error", () => undefined);
	child.stdin.end(stdin);
	const [stdout, stderr, exitCode] = await Promise.all([
		text(child.stdout),
		text(child.stderr),
		new Promise<number>((resolve, reject) => {
			child.once("error", reject);
			child.once("close", (code) => resolve(code ?? 1));
		}),
	]);
	return { exitCode, stdout, stderr };
}

/** As {@link kubectl}, for what is expected to be done: its standard output, or an Error with what kubectl said. */
export async function kubectlDone(args: string[], stdin = ""): Promise<string> {
	const { exitCode, stdout, stderr } = await kubectl(args, stdin);
	if (exitCode !== 0) throw new Error(`kubectl ${args[0]}: ${stderr}`);
	return stdout;
}
