import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	type BinaryName,
	localServers,
	pinnedBinaries,
	releaseDigests,
	undigested,
} from "./pinned.ts";

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
	expect(release.path).toContain(release.version);
	// A build in place of a download is the same minor of Kubernetes.
	expect(minorOf(release.version)).toBe(minorOf(pin.version));
	expect(release.path).toContain("arm64");
});

const minorOf = (version: string) => version.split(".").slice(0, 2).join(".");

const platforms = ["linux", "darwin"].flatMap((os) =>
	["x64", "arm64"].map((arch) => ({ os, arch })),
);

test("on Linux one archive holds three servers, on macOS one without the controller manager", () => {
	const pathsOn = (os: string) =>
		(["kube-apiserver", "kubectl", "kube-controller-manager"] as const).map(
			(name) => pinnedBinaries[name].release({ os, arch: "arm64" })?.path,
		);
	const server = "/v1.36.0/kubernetes-server-linux-arm64.tar.gz";
	expect(pathsOn("linux")).toEqual([server, server, server]);
	const envtest =
		"/kubernetes-sigs/controller-tools/releases/download/envtest-v1.36.0/envtest-v1.36.0-darwin-arm64.tar.gz";
	expect(pathsOn("darwin")).toEqual([envtest, envtest, undefined]);
});

test("what make up runs has a digest for each platform, or stands in the list of those without", () => {
	for (const name of localServers)
		for (const platform of platforms) {
			const release = pinnedBinaries[name].release(platform);
			if (!release) continue;
			const isKnown = release.path in releaseDigests;
			expect([name, isKnown]).toEqual([name, !(name in undigested)]);
		}
});

test("committed digests are whole, and of releases of these versions", () => {
	const releases = names.flatMap((name) =>
		platforms.map((platform) => pinnedBinaries[name].release(platform)),
	);
	for (const [path, digest] of Object.entries(releaseDigests)) {
		const release = releases.find((found) => found?.path === path);
		expect(release, path).toBeDefined();
		const digits = release!.algorithm === "sha512" ? 128 : 64;
		expect(digest).toMatch(
			new RegExp(`^${release!.algorithm}:[0-9a-f]{${digits}}$`),
		);
	}
});
