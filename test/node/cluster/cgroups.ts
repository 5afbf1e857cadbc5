import { existsSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";

/** Where the node's containers are accounted for. */
export const cgroup = "tidemill-e2e";

const root = "/sys/fs/cgroup";

/** kubelet makes its own below these. */
export function makeCgroups(): void {
	for (const path of places()) mkdirSync(path, { recursive: true });
}

/** Removes them with all below. Returns false while one of them still has a process. */
export function removeCgroups(): boolean {
	for (const path of places().filter(existsSync)) {
		const below = readdirSync(path, { recursive: true, withFileTypes: true })
			.filter((entry) => entry.isDirectory())
			.map((entry) => join(entry.parentPath, entry.name))
			// The deepest first.
			.sort((a, b) => b.length - a.length);
		try {
			for (const directory of [...below, path]) rmdirSync(directory);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "EBUSY") return false;
			throw error;
		}
	}
	return true;
}

/** One in each hierarchy: cgroup v1 has one for each controller, v2 one for all. */
function places(): string[] {
	const isOne = existsSync(join(root, "cgroup.controllers"));
	const hierarchies = isOne
		? [root]
		: readdirSync(root).map((name) => join(root, name));
	return hierarchies.map((hierarchy) => join(hierarchy, cgroup));
}
