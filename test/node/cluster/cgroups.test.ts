import {
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	cgroup,
	makeCgroups,
	reasonWithoutCgroups,
	removeCgroups,
} from "./cgroups.ts";

/* Folders stand for the kernel's: GitHub's runners have cgroup v2, other machines v1. */

/** cgroup v1: a folder for each controller; systemd mounts v2 beside them. */
function separate(...names: string[]): string {
	const root = mkdtempSync(join(tmpdir(), "cgroup-v1-"));
	for (const name of names) mkdirSync(join(root, name));
	return root;
}

/** cgroup v2: one tree, whose root passes some controllers on. */
function unified(available: string, passed: string): string {
	const root = mkdtempSync(join(tmpdir(), "cgroup-v2-"));
	writeFileSync(join(root, "cgroup.controllers"), available);
	writeFileSync(join(root, "cgroup.subtree_control"), passed);
	return root;
}

const change = (root: string) =>
	readFileSync(join(root, "cgroup.subtree_control"), "utf8");

test("in cgroup v1 the node has a cgroup in each hierarchy, and leaves none behind", () => {
	const root = separate("cpu,cpuacct", "memory", "pids", "unified");
	symlinkSync(join(root, "cpu,cpuacct"), join(root, "cpu"));
	expect(reasonWithoutCgroups(root)).toBeUndefined();
	makeCgroups(root);
	const hierarchies = ["cpu", "cpu,cpuacct", "memory", "pids", "unified"];
	for (const name of hierarchies)
		expect(readdirSync(join(root, name))).toEqual([cgroup]);
	mkdirSync(join(root, "memory", cgroup, "kubepods/burstable"), {
		recursive: true,
	});
	expect(removeCgroups(root)).toBe(true);
	for (const name of hierarchies)
		expect(readdirSync(join(root, name))).toEqual([]);
});

test("in cgroup v2 the node has one cgroup, to which the root passes on what kubelet needs", () => {
	const root = unified(
		"cpuset cpu io memory hugetlb pids rdma misc\n",
		"cpu memory pids\n",
	);
	expect(reasonWithoutCgroups(root)).toBeUndefined();
	makeCgroups(root);
	expect(change(root)).toBe("+cpuset +hugetlb");
	const folders = () =>
		readdirSync(root).filter((name) => !name.startsWith("cgroup."));
	expect(folders()).toEqual([cgroup]);
	expect(removeCgroups(root)).toBe(true);
	expect(folders()).toEqual([]);
});

test("a root that passes on all that kubelet needs stays as it is", () => {
	const passed = "cpuset cpu io memory pids\n";
	const root = unified("cpuset cpu io memory pids\n", passed);
	makeCgroups(root);
	expect(change(root)).toBe(passed);
});

test.each([
	["no cgroups", separate(), /^no cgroups are mounted in /],
	["cgroup v1 without pids", separate("cpu", "memory"), /controller pids$/],
	[
		"a container's cgroup v2",
		unified("io memory\n", ""),
		/controller cpu, pids$/,
	],
])("with %s no node can run", (_, root, reason) => {
	expect(reasonWithoutCgroups(root)).toMatch(reason);
});
