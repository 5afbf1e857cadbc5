import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newEvent } from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	CompactionFixture,
	closedDate,
} from "../support/fixtures/data-plane/compaction-fixture.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";
import {
	done,
	hasPython,
	pythonEnvironment,
} from "../support/servers/python.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

const packages = ["pyarrow==26.0.1", "polars==2.1.0"];

let servers: Servers;
/** Undefined where there is no Python. */
let python: string | undefined;
beforeAll(async () => {
	servers = await startServers();
	if (!(await hasPython())) return;
	const name = packages.join("-").replaceAll("=", "");
	python = join(await pythonEnvironment(name, packages), "python");
});
afterAll(() => servers?.stop());

/** The page's Python, one block after the other, for this bucket; each ends with what it finds, as JSON. */
async function documentedProgram(prefix: string): Promise<string> {
	const { s3 } = servers;
	const page = await readFile(
		new URL("../../docs/lake.md", import.meta.url),
		"utf8",
	);
	const [choice, arrow, polars] = [
		...page.matchAll(/^```python\n(.*?)^```/gms),
	].map(([, code]) => code!);
	return [
		choice,
		arrow,
		'arrow = sorted(events.to_table(columns=["body"]).column("body").to_pylist())',
		polars,
		'print(json.dumps({"arrow": arrow, "polars": sorted(events.collect()["body"].to_list()), "dates": sorted(str(date) for date in set(events.collect()["date"].to_list()))}))',
	]
		.join("\n")
		.replaceAll("BUCKET/PREFIX", `${s3.bucket}/${prefix}`)
		.replaceAll("http://127.0.0.1:7070", s3.endpoint)
		.replace('access_key="…"', `access_key="${s3.accessKeyId}"`)
		.replace('secret_key="…"', `secret_key="${s3.secretAccessKey}"`)
		.replace('access_key_id": "…"', `access_key_id": "${s3.accessKeyId}"`)
		.replace('access_key": "…"', `access_key": "${s3.secretAccessKey}"`);
}

test("PyArrow and Polars find each event once by the program of docs/lake.md, before a compaction and while both are there", async (context) => {
	if (!python) return context.skip("there is no Python 3 with venv");
	const fixture = await CompactionFixture.open(servers);
	const { archive, bodies, signal, running } = fixture;
	await archive.publish([newEvent('"today"')]);
	await running.flush();
	const all = [...bodies, '"today"'].sort();
	const directory = await temporaryDirectory("python");
	const program = join(directory, "lake.py");
	await writeFile(program, await documentedProgram(archive.prefix));
	const look = async () =>
		JSON.parse((await done(python!, [program])).trim().split("\n").at(-1)!);
	expect(await look()).toMatchObject({ arrow: all, polars: all });
	await fixture.compactor().look(Date.now(), signal);
	const found = await look();
	expect(found).toMatchObject({ arrow: all, polars: all });
	expect(found.dates).toContain(closedDate);
	await rm(directory, { recursive: true });
});
