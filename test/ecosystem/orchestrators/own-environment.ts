import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { done } from "../../support/servers/python.ts";

/**
 * A Python environment over one of the cache. It has all packages of that, and keeps what pip installs to itself.
 * Returns the variables of a shell for it.
 *
 * @param shared the programs of the one of the cache.
 * @param folder of the new one.
 */
export async function ownEnvironment(
	shared: string,
	folder: string,
): Promise<{ PATH: string; PYTHONPATH: string }> {
	const packagesOf = async (bin: string) => {
		const program = "import sysconfig; print(sysconfig.get_path('purelib'))";
		return (await done(join(bin, "python3"), ["-c", program])).trim();
	};
	await done(join(shared, "python3"), ["-m", "venv", "--without-pip", folder]);
	const bin = join(folder, "bin");
	const own = await packagesOf(bin);
	await writeFile(
		join(own, "shared.pth"),
		`import site; site.addsitedir(${JSON.stringify(await packagesOf(shared))})\n`,
	);
	const pip = join(bin, "pip");
	await writeFile(pip, `#!/bin/sh\nexec "${bin}/python" -m pip "$@"\n`);
	await chmod(pip, 0o755);
	return {
		PATH: [bin, shared, process.env.PATH].join(":"),
		// For the programs of the one of the cache.
		PYTHONPATH: own,
	};
}
