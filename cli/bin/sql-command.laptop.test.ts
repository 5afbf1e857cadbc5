import { execFile } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../../test/support/cli/in-process.ts";
import { temporaryDirectory } from "../../test/support/servers/test-server.ts";

/*
 * `tidemill sql` prints a command of a server's own client, for a person to run. What an editor wrote into the Destination stays
 * inside its words, in real shells with clients that say what they are given.
 */

let folder: string;

beforeAll(async () => {
	folder = await temporaryDirectory("sql-command");
	await mkdir(join(folder, "bin"));
	// The last stands for a command that an editor would like to have run.
	for (const name of ["psql", "clickhouse-client", "bq", "stolen"]) {
		const file = join(folder, "bin", name);
		await writeFile(file, `#!/bin/sh\nprintf '%s\\0' ${name} "$@"\n`);
		await chmod(file, 0o755);
	}
});

/** What a client is given by the command that is printed, the same in each shell. */
async function givenBy(spec: object, sql: string): Promise<string[]> {
	const { args } = await apiserver(() => [
		200,
		{ metadata: { name: "d", namespace: "mine" }, spec },
	]);
	const printed = await tidemill("sql", "-d", "d", sql, ...args);
	expect(printed.exitCode).toBe(0);
	// A terminal shows what a shell runs.
	expect(printed.stdout).toMatch(/^[\n\x20-\x7e]+$/);
	const run = promisify(execFile);
	const env = { PATH: `${join(folder, "bin")}:${process.env.PATH}` };
	const given = await Promise.all(
		["sh", "bash"].map(async (shell) => {
			const place = { cwd: folder, env };
			const { stdout } = await run(shell, ["-c", printed.stdout], place);
			return stdout.split("\0").slice(0, -1);
		}),
	);
	expect(given[1]).toEqual(given[0]);
	return given[0]!;
}

const hostile = [
	"a'b",
	`a"b`,
	"$(stolen)",
	"`stolen`",
	"a;stolen",
	"a\nstolen",
	"--host=evil.example",
	"-c",
	"host=evil.example password=x",
	"postgresql://evil.example/x",
	"a@evil.example/x?host=evil.example&sslmode=disable#",
	"%2e%2e",
	"\u202etxt.exe\u2066",
	"\u001b[2J",
	"\\",
	"!!",
	"~",
	"*",
	"a b\tc",
	"é漢",
];
const sql = `select '$HOME', "a" -- it's`;
const credentials = { secretRef: { name: "s" } };

test.each(hostile)(
	"in the words of psql, %j is a name and no more",
	async (text) => {
		const postgres = { host: text, database: text, schema: text, credentials };
		const spec = { type: "Postgres", postgres };
		const [command, dbname, query, ...rest] = await givenBy(spec, sql);
		expect([command, query, rest]).toEqual(["psql", `--command=${sql}`, []]);
		// As libpq reads an address: it is taken apart first, and each part is decoded then.
		const [, host, database, settings = ""] =
			/^--dbname=postgresql:\/\/([^/?@:]+)\/([^/?]+)\?(.+)$/.exec(dbname!)!;
		expect([host, database].map((part) => decodeURIComponent(part!))).toEqual([
			text,
			text,
		]);
		const given = settings.split("&").map((one) => one.split("="));
		expect(given.map(([name]) => name)).toEqual([
			...["sslmode", "sslrootcert", "options"],
		]);
		expect(given[0]![1]).toBe("verify-full");
		// As Postgres reads its options: a word ends at a space that no backslash stands before.
		const options = decodeURIComponent(given[2]![1]!);
		const words = [...options.matchAll(/(?:\\.|[^\s\\])+/gs)];
		expect(words.map(([word]) => word.replace(/\\(.)/gs, "$1"))).toEqual([
			`-csearch_path="${text.replaceAll('"', '""')}",public`,
		]);
	},
);

test.each(hostile)(
	"in the words of clickhouse-client, %j is a name and no more",
	async (text) => {
		const url = "https://ch.example.com:8443";
		const clickHouse = { url, database: text, credentials };
		const given = await givenBy({ type: "ClickHouse", clickHouse }, sql);
		const [, database] =
			/^clickhouse:\/\/ch\.example\.com\/([^/?&#]+)\?secure$/.exec(given[1]!)!;
		expect(decodeURIComponent(database!)).toBe(text);
		expect(given).toEqual([
			...["clickhouse-client", given[1]],
			`--query=${sql}`,
		]);
	},
);

test("of BigQuery it is bq, and a name that a terminal would show as another is refused", async () => {
	const of = (dataset: string) => ({
		type: "BigQuery",
		bigQuery: { projectId: "shop-123456", dataset },
	});
	expect(await givenBy(of("$(stolen)"), "-- all\nselect 1")).toEqual([
		"bq",
		"--project_id=shop-123456",
		"--dataset_id=shop-123456:$(stolen)",
		"--location=EU",
		"query",
		"--nouse_legacy_sql",
		" -- all\nselect 1",
	]);
	const { args } = await apiserver(() => [
		200,
		{ metadata: { name: "d" }, spec: of("a\u202eb") },
	]);
	const refused = await tidemill("sql", "-d", "d", "select 1", ...args);
	expect([refused.exitCode, refused.stdout]).toEqual([1, ""]);
	expect(refused.stderr).toContain("\\u202e");
});

test.each([
	[{ credentials }, "postgresql:///?sslmode=verify-full&sslrootcert=system"],
	[
		{ host: "::1", port: 5433, sslMode: "disable", credentials },
		"postgresql://[::1]:5433/?sslmode=disable",
	],
	[
		{ host: "db", database: "d", caSecretRef: { name: "ca" }, credentials },
		"postgresql://db/d?sslmode=verify-full",
	],
])(
	"what the Destination leaves to the Secret, psql takes from the person: %j",
	async (postgres, address) => {
		expect(await givenBy({ type: "Postgres", postgres }, "select 1")).toEqual([
			...["psql", `--dbname=${address}`, "--command=select 1"],
		]);
	},
);
