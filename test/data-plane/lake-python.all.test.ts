// In make test: ingest/lake/lists/lister.test.ts
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { dayMs } from "../../packages/contracts/utc-date.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { CompactionFixture } from "../support/fixtures/data-plane/compaction-fixture.ts";
import { importEvents } from "../support/fixtures/data-plane/imported-events.ts";
import { lakePage } from "../support/fixtures/data-plane/lake.ts";
import { readState } from "../support/fixtures/data-plane/stored-state.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import {
	done,
	hasPython,
	pythonEnvironment,
} from "../support/servers/python.ts";

/*
 * The recipes of docs/lake.md, word for word. `make test-ecosystem` sets LAKE_TOOLS=all, which adds what is large: Spark needs
 * Java 17 and a gigabyte.
 */
const withSpark = process.env.LAKE_TOOLS === "all";
const packages = [
	...["pyarrow==26.0.1", "polars==2.1.0", "pandas==3.1.1"],
	...["duckdb==1.5.5", "duckdb-extension-httpfs==1.5.5"],
	...(withSpark ? ["pyspark==4.3.0"] : []),
];

/** How a program of a tool prints the bodies that its recipe finds. */
const printed: Record<string, string> = {
	pandas: 'print(json.dumps(events["body"].tolist()))',
	pyarrow: 'print(json.dumps(events.column("body").to_pylist()))',
	polars: 'print(json.dumps(events["body"].to_list()))',
	duckdb:
		"print(json.dumps([body for (body,) in duckdb.sql(\"SELECT body FROM read_parquet(getvariable('events'))\").fetchall()]))",
	spark:
		'print(json.dumps([row.body for row in events.select("body").collect()]))',
};
const tools = Object.keys(printed).filter(
	(tool) => withSpark || tool !== "spark",
);

let servers: Servers;
/** Undefined where there is no Python. */
let python: string | undefined;
beforeAll(async () => {
	servers = await startServers();
	if (!(await hasPython())) return;
	const name = `lake-${withSpark ? "and-spark" : "python"}`;
	python = join(await pythonEnvironment(name, packages), "python");
});
afterAll(() => servers?.stop());

async function programOf(
	tool: string,
	{ servers, prefix, sourceKey }: ArchiveFixture,
): Promise<string> {
	const source = `account=shop/source=${sourceKey}`;
	const { python: recipes, sql } = lakePage(servers.s3, prefix, source);
	// DuckDB's makers publish the extension on PyPI, too.
	const [prepare, find] = sql.map((text) => text.replace(/^INSTALL.*/, ""));
	const blocks: Record<string, string[]> = {
		duckdb: [
			"import duckdb, duckdb_extension_httpfs, glob, os",
			"[extension] = glob.glob(os.path.dirname(duckdb_extension_httpfs.__file__) + '/**/*.duckdb_extension', recursive=True)",
			"duckdb.load_extension(extension)",
			`duckdb.sql("""${prepare}""")`,
			`duckdb.sql("""${find}""")`,
		],
		pyarrow: [recipes.get("pandas")!, recipes.get("pyarrow")!],
	};
	const code = blocks[tool] ?? [recipes.get(tool)!];
	return ["import json", ...code, printed[tool]].join("\n");
}

/** Returns what finds the bodies of a source by the tool's recipe, sorted. */
async function readerOf(
	tool: string,
	archive: ArchiveFixture,
): Promise<() => Promise<string[]>> {
	const program = join(await passingDirectory("python"), "lake.py");
	await writeFile(program, await programOf(tool, archive));
	return async () => {
		const said = await done(python!, [program]);
		return JSON.parse(said.trim().split("\n").at(-1)!).sort();
	};
}

test.for(tools)(
	"%s finds each event once by its recipe in docs/lake.md, before, during and after a compaction, with those that were imported",
	async (tool, context) => {
		if (!python) return context.skip("there is no Python 3 with venv");
		const fixture = await CompactionFixture.open(servers);
		const { archive, bodies, signal, running } = fixture;
		const { sourceKey } = archive;
		await archive.publish([
			newEvent('"today"', { sourceKey }),
			newEvent('"apart"', { sourceKey, quarantined: true }),
		]);
		await running.flush();
		await importEvents(archive, Date.now() - 20 * dayMs, ['"imported"']);
		const all = [...bodies, '"today"', '"imported"'].sort();
		const look = await readerOf(tool, archive);
		await archive.writeLists();
		expect(await look()).toEqual(all);
		await fixture.compactor().look(Date.now(), signal);
		// Both are there now, and the list has the old ones.
		expect(await look()).toEqual(all);
		await archive.writeLists();
		expect(await look()).toEqual(all);
		await fixture.recordedDaysAgo(2);
		await fixture.compactor().look(Date.now(), signal);
		expect(await fixture.names()).toHaveLength(1);
		expect(await look()).toEqual(all);
	},
);

test.for(tools)(
	"%s finds by its recipe what version 0.1 has stored, and beside it what comes today",
	async (tool, context) => {
		if (!python) return context.skip("there is no Python 3 with venv");
		const servers = await startServers();
		onTestFinished(() => servers.stop());
		const corpus = join(import.meta.dirname, "../support/corpus/stored-state");
		const state = await readState(join(corpus, "0.1.json"));
		const archive = await ArchiveFixture.restore(servers, state);
		const { flush, lister } = await archive.start();
		const { sourceKey } = archive;
		// One to a date that has objects of that version, and one to a date of its own.
		const receivedAtMs = Date.parse("2026-03-02T12:00:00Z");
		await archive.publish([
			newEvent('"late"', { sourceKey, receivedAtMs }),
			newEvent('"today"', { sourceKey }),
		]);
		await flush();
		await lister.lookBack(Date.now(), new AbortController().signal);
		await archive.writeLists();
		const found = await (await readerOf(tool, archive))();
		expect(found).toEqual(expect.arrayContaining(['"late"', '"today"']));
		// Nine, one of them released, and that of a frame which wasn't archived.
		expect(found).toHaveLength(2 + 10);
		expect(new Set(found).size).toBe(found.length);
	},
);
