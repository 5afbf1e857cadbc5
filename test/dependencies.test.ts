import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const read = (name: string) =>
	readFileSync(join(import.meta.dirname, "..", name), "utf8");
const lock: {
	packages: Record<
		string,
		{
			version: string;
			integrity?: string;
			hasInstallScript?: boolean;
			bin?: Record<string, string>;
			os?: string;
			cpu?: string;
		}
	>;
} = JSON.parse(read("package-lock.json"));
const { "": _, ...packages } = lock.packages;

test("every package is locked to its content", () => {
	const loose = Object.entries(packages).filter(
		([, { integrity }]) => !integrity?.startsWith("sha512-"),
	);
	expect(loose).toEqual([]);
});

test("no package runs code when it is installed, so none fetches what isn't locked", () => {
	const withScripts = Object.entries(packages)
		.filter(([, { hasInstallScript }]) => hasInstallScript)
		.map(([path]) => path);
	expect(withScripts).toEqual([]);
	expect(read(".npmrc").split("\n")).toContain("ignore-scripts=true");
});

test("each platform has the same Node, as one locked package", () => {
	const nodes = Object.values(packages).filter(({ bin }) => bin?.node);
	expect(nodes.map(({ os, cpu }) => `${os}/${cpu}`).toSorted()).toEqual([
		"darwin/arm64",
		"darwin/x64",
		"linux/arm64",
		"linux/x64",
	]);
	expect(new Set(nodes.map(({ version }) => version)).size).toBe(1);
});
