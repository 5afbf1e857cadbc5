import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	realpathSync,
	rmdirSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";

/** Where the node's containers are accounted for. */
export const cgroup = "tidemill-e2e";

const mount = "/sys/fs/cgroup";
/** kubelet refuses a cgroup that lacks one of these which the machine has (pkg/kubelet/cm/cgroup_v2_manager_linux.go). */
const kubeletControllers = ["cpuset", "cpu", "memory", "hugetlb", "pids"];
/** Without one of these no Pod's requests and limits can be set. */
const neededControllers = ["cpu", "memory", "pids"];

/** Why containers can't be accounted for on this machine; undefined if they can. */
export function reasonWithoutCgroups(root = mount): string | undefined {
	const available = isUnified(root)
		? controllers(root)
		: neededControllers.filter((name) => existsSync(join(root, name)));
	if (available.length === 0) return `no cgroups are mounted in ${root}`;
	const missing = neededControllers.filter((name) => !available.includes(name));
	if (missing.length > 0)
		return `the cgroups in ${root} lack the controller ${missing.join(", ")}`;
	return undefined;
}

/** kubelet makes its own below these. */
export function makeCgroups(root = mount): void {
	if (isUnified(root)) passOnControllers(root);
	for (const path of places(root)) mkdirSync(path, { recursive: true });
}

/** Removes them with all below. Returns false while one of them still has a process. */
export function removeCgroups(root = mount): boolean {
	for (const path of places(root).filter(existsSync)) {
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
function places(root: string): string[] {
	const hierarchies = isUnified(root)
		? [root]
		: // systemd links `cpu` to `cpu,cpuacct`.
			readdirSync(root).map((name) => realpathSync(join(root, name)));
	return [...new Set(hierarchies)].map((hierarchy) => join(hierarchy, cgroup));
}

function isUnified(root: string): boolean {
	return existsSync(join(root, "cgroup.controllers"));
}

/**
 * In cgroup v2 a cgroup has the controllers that its parent passes on, and systemd lets the root pass on those that a unit
 * asks for. https://docs.kernel.org/admin-guide/cgroup-v2.html#enabling-and-disabling
 */
function passOnControllers(root: string): void {
	const passed = controllers(root, "cgroup.subtree_control");
	const missing = controllers(root).filter(
		(name) => kubeletControllers.includes(name) && !passed.includes(name),
	);
	if (missing.length === 0) return;
	const change = missing.map((name) => `+${name}`).join(" ");
	writeFileSync(join(root, "cgroup.subtree_control"), change);
}

function controllers(cgroup: string, file = "cgroup.controllers"): string[] {
	const text = readFileSync(join(cgroup, file), "utf8");
	return text.split(/\s+/).filter(Boolean);
}
