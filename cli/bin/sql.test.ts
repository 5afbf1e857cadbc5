import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../packages/duckdb/database.ts";
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
		await connection.run(`create table t as select '${name}' as file`);
		connection.closeSync();
		database.closeSync();
	}
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
