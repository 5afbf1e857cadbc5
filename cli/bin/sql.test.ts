import { copyFile, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../packages/duckdb/session.ts";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../../test/support/cli/in-process.ts";
import { temporaryDirectory } from "../../test/support/servers/test-server.ts";

const destination = (name: string, own: object) => ({
	metadata: { name },
	spec: own,
});
const lake = destination("lake", {
	type: "DuckDB",
	duckDB: { path: "own.duckdb" },
});
const other = destination("other", {
	type: "DuckDB",
	duckDB: { path: "b.duckdb" },
});
const server = destination("server", { type: "Other" });

/** A query of namespace `mine`, whose folder has the files own.duckdb and old.duckdb, with what the cluster answers. */
async function query(sql: string, status: number, items: object[]) {
	const home = await temporaryDirectory("sql");
	const folder = join(home, "warehouse", "mine");
	await mkdir(folder, { recursive: true });
	for (const name of ["own", "old"]) {
		const database = await openDatabase({
			file: join(folder, `${name}.duckdb`),
			waitMs: 0,
		});
		const connection = await database.connect();
		await connection.run(
			`create table t as select '${name}' as file; create view stolen as from read_text('/etc/passwd')`,
		);
		connection.closeSync();
		database.closeSync();
	}
	// What somebody may have put onto the volume.
	await copyFile(join(folder, "old.duckdb"), join(home, "private.duckdb"));
	await symlink(join(home, "private.duckdb"), join(folder, "link.duckdb"));
	await symlink(home, join(folder, "folder"));
	const { args } = await apiserver(() => [
		status,
		status === 200
			? { metadata: {}, items }
			: { kind: "Status", reason: "Forbidden", message: "no", code: status },
	]);
	process.env.TIDEMILL_HOME = home;
	try {
		return await tidemill("sql", "-o", "csv", "-n", "mine", sql, ...args);
	} finally {
		delete process.env.TIDEMILL_HOME;
	}
}

test.each([
	["the only Destination", [lake]],
	["the only one that has a file", [lake, server]],
])("%s is asked, also beside the file of a deleted one", async (_, items) => {
	const { stdout } = await query("select file from t", 200, items);
	expect(stdout).toBe("file\r\nown\r\n");
});

test("of several Destinations one must be chosen, and the message has their names", async () => {
	const { exitCode, stderr } = await query("select 1", 200, [lake, other]);
	expect(stderr).toContain(
		"several destinations. Choose one with --destination: lake, other",
	);
	expect(exitCode).toBe(2);
});

test("who may not list Destinations chooses among files", async () => {
	const { stderr } = await query("select 1", 403, []);
	expect(stderr).toContain("old.duckdb, own.duckdb. Choose one");
});

test("a query may begin with a comment", async () => {
	const sql = "-- all files\nselect file from t";
	expect((await query(sql, 200, [lake])).stdout).toBe("file\r\nown\r\n");
});

test.each([
	["../../../private.duckdb", "leads out of the volume"],
	["../other/own.duckdb", "leads out of the volume"],
	["/etc/passwd", "leads out of the volume"],
	["link.duckdb", "is a link that leads out of the volume"],
	["folder/private.duckdb", "is a link that leads out of the volume"],
	["none.duckdb", "There is no "],
])(
	"a destination's path leads to no other file of the person's: %s",
	async (path, words) => {
		const { stdout, stderr, exitCode } = await query("from t", 200, [
			destination("lake", { type: "DuckDB", duckDB: { path } }),
		]);
		expect(stderr).toContain(words);
		expect([stdout, exitCode]).toEqual(["", 2]);
	},
);

test.each([
	"from stolen",
	"from read_text('/etc/passwd')",
	"attach '/tmp/other.duckdb'",
	"copy t to '/tmp/copy.csv'",
	"install httpfs",
	"load httpfs",
	"from 'https://example.com/a.parquet'",
	"set enable_external_access = true",
	"reset enable_external_access",
	"from duckdb_secrets()",
	"insert into t values ('x')",
])("a query reads the file alone: %s is refused", async (sql) => {
	const { stdout, stderr, exitCode } = await query(sql, 200, [lake]);
	expect(stderr).toMatch(/Permission Error|configuration|read-only/i);
	expect([stdout, exitCode]).toEqual(["", 1]);
});

test("of a server, the command of its own client is printed alone, and nothing but the destination is read", async () => {
	const { asked, args } = await apiserver(() => [
		200,
		destination("warehouse", {
			type: "Postgres",
			postgres: {
				host: "db.example.com",
				database: "analytics",
				credentials: { secretRef: { name: "postgres" } },
			},
		}),
	]);
	const answer = await tidemill(
		...["sql", "-d", "warehouse", "select 'x'", "-n", "mine", ...args],
	);
	expect(answer).toEqual({
		exitCode: 0,
		stdout: String.raw`psql '--dbname=postgresql://db.example.com/analytics?sslmode=verify-full&sslrootcert=system' '--command=select '\''x'\'''
`,
		stderr: expect.stringContaining(
			'whoever may edit the destination "warehouse" chose the host',
		),
	});
	expect(asked).toEqual([
		"GET /apis/tidemill.dev/v1alpha1/namespaces/mine/destinations/warehouse",
	]);
	const formatted = await tidemill(
		...["sql", "-d", "warehouse", "select 1", "-o", "csv", ...args],
	);
	expect(formatted.exitCode).toBe(2);
	expect(formatted.stderr).toContain("--format is for a DuckDB file");
});
