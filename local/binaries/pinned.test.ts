import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type BinaryName, pinnedBinaries, releaseDigests } from "./pinned.ts";

const names = Object.keys(pinnedBinaries) as BinaryName[];

test.each(names)("%s is downloaded and built in the same version", (name) => {
	const pin = pinnedBinaries[name];
	const goMod = readFileSync(
		join(import.meta.dirname, "../modules", pin.module, "go.mod"),
		"utf8",
	);
	const required = goMod
		.split("\n")
		.map((line) => line.trim().split(/\s+/))
		.filter(([path]) => path && `${pin.package}/`.startsWith(`${path}/`))
		.map(([, version]) => version);
	expect(required).toContain(`v${pin.version}`);
	const release = pin.release({ os: "linux", arch: "arm64" });
	if (!release) return;
	expect(release.path).toContain(pin.version);
	expect(release.path).toContain("arm64");
});

test("Kubernetes' servers are published only for Linux, kubectl also for macOS", () => {
	const mac = { os: "darwin", arch: "arm64" };
	expect(pinnedBinaries["kube-apiserver"].release(mac)).toBeUndefined();
	expect(pinnedBinaries.kubectl.release(mac)?.path).toBe(
		"/release/v1.36.3/bin/darwin/arm64/kubectl",
	);
});

test("committed checksums are SHA-256, and of releases of these versions", () => {
	const paths = names.flatMap((name) =>
		["linux", "darwin"].flatMap((os) =>
			["x64", "arm64"].map(
				(arch) => pinnedBinaries[name].release({ os, arch })?.path,
			),
		),
	);
	for (const [path, digest] of Object.entries(releaseDigests)) {
		expect(paths).toContain(path);
		expect(digest).toMatch(/^[0-9a-f]{64}$/);
	}
});
