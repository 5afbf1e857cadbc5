import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The folder of a Go module's source, such as `k8s.io/kubernetes@v1.36.3`; Go checks its content by the checksum database. */
export async function goModule(module: string): Promise<string> {
	const { stdout } = await promisify(execFile)(
		"go",
		["mod", "download", "-json", module],
		{ env: { ...process.env, GOWORK: "off", GOFLAGS: "-mod=mod" } },
	).catch((error: { stdout?: string }) => {
		if (!error.stdout) throw error;
		return error as { stdout: string };
	});
	const { Dir, Error: reason } = JSON.parse(stdout);
	// Such as that it needs a newer Go.
	if (!Dir) throw new Error(`Go can't get ${module}: ${reason}`);
	return Dir;
}
