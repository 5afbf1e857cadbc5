import { execFile, spawn } from "node:child_process";
import { symlink } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { inject } from "vitest";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { temporaryDirectory } from "./test-server.ts";

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

/** Runs the command `kubectl create …` that ends a message, as an administrator pastes it. */
export async function runCommandIn(
	message: string,
	kubeconfig = inject("kubeconfig"),
): Promise<void> {
	const command = message.slice(message.indexOf("kubectl create"));
	const { kubectl } = await resolveBinaries(["kubectl"]);
	const directory = await temporaryDirectory("kubectl");
	await symlink(kubectl, join(directory, "kubectl"));
	await promisify(execFile)("sh", ["-c", command], {
		env: {
			...process.env,
			PATH: [directory, process.env.PATH].join(delimiter),
			KUBECONFIG: kubeconfig,
		},
	});
}
