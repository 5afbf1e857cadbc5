// In make test: test/data-plane/postgres-load.laptop.test.ts
import { randomBytes } from "node:crypto";
import { chown, mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import {
	fileEnv,
	type PostgresInput,
} from "../../packages/warehouses/postgres/input.ts";
import { Database } from "../../packages/warehouses/postgres/load/database.ts";
import { memoryDisk } from "../support/faults/loop-disk.ts";
import { boundInput } from "../support/fixtures/data-plane/bound-input.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";
import {
	postgresFixture,
	postgresOfFile,
} from "../support/fixtures/data-plane/postgres-fixture.ts";
import { isRoot } from "../support/servers/postgres.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* What a Run and a check do on Postgres: what they read and remember, and how they end. */

const server = postgresOfFile();

/** As a Job of that input reads them. */
async function rowsOf(input: PostgresInput, sql: string): Promise<unknown[]> {
	const { signal } = new AbortController();
	const database = await Database.open(boundInput(input), { signal });
	try {
		const pages = await Array.fromAsync(database.read(input.schema, sql));
		return pages.flatMap(({ rows }) => rows);
	} finally {
		await database.close();
	}
}

const perDate =
	"SELECT date, count(*), count(DISTINCT event_id) FROM webhooks.orders GROUP BY date ORDER BY date";

test("a Run that adds reads no row of a day that nobody has changed, and counts what is beside its dates all the same", async () => {
	const { manifest, sql, ...fixture } = await postgresFixture(server());
	const ofDay = async (tag: string, rows: number) =>
		manifest({ "2026-03-02": [eventsOf("2026-03-02", rows, tag)] });
	let second = 0;
	const loaded = (days: Manifest) => {
		const snapshotTime = `2026-03-03T12:00:0${second++}.000Z`;
		return fixture.loaded({ ...days, snapshotTime }, { adds: true });
	};
	const read = async (rows: number): Promise<number> => {
		const [stats] = await vi.waitFor(async () => {
			const found = await sql(
				"SELECT sum(n_tup_ins), sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname LIKE 'orders\\_p%'",
			);
			// A connection says what it did at its end.
			expect(Number(found[0]![0])).toBe(rows);
			return found;
		});
		return Number(stats![1]);
	};
	await loaded(
		await manifest({ "2026-03-01": [eventsOf("2026-03-01", 3_000, "old")] }),
	);
	const day = await ofDay("a", 3_000);
	expect(await loaded(day)).toMatchObject({ rows: 3_000, otherRows: 3_000 });
	const before = await read(6_000);
	const [more] = (await ofDay("b", 10)).dates;
	const [known] = day.dates;
	const both: Manifest = {
		...day,
		dates: [
			{
				...known!,
				rows: 3_010,
				objects: [...known!.objects, ...more!.objects],
			},
		],
	};
	expect(await loaded(both)).toMatchObject({ addedRows: 10, otherRows: 3_000 });
	expect((await read(6_010)) - before).toBeLessThan(100);
	await sql("DELETE FROM webhooks.orders_p20260301 WHERE event_id LIKE '%-7'");
	const [[left] = []] = await sql(
		"SELECT count(*) FROM webhooks.orders_p20260301",
	);
	expect(await loaded(both)).toMatchObject({ otherRows: Number(left) });
});

test("a day of long ago is added to like any other, and what somebody changed in it is found, though the record has one entry for it", async () => {
	const { manifest, loaded, sql, database } = await postgresFixture(server());
	const [date, today] = ["2026-01-01", "2026-06-01"];
	const table = {
		...{ name: "orders", description: "" },
		columns: [
			...columns,
			{ name: "tag", from: { bodyPointer: "/tag", type: "Integer" as const } },
		],
	};
	let last: Manifest | undefined;
	/** A scheduled Run of all that was there before and of three events more on one of its dates. */
	const add = async (on: string, tag: string, dates = [on]) => {
		const [more] = (await manifest({ [on]: [eventsOf(on, 3, tag)] })).dates;
		const days = new Map(last?.dates.map((day) => [day.date, day]));
		const { rows = 0, objects = [] } = days.get(on) ?? {};
		days.set(on, {
			...{ date: on, rows: rows + 3 },
			objects: [...objects, ...more!.objects],
		});
		last = {
			...(await manifest({})),
			snapshotTime: `${dates.at(-1)}T12:00:00.000Z`,
			dates: [...days.values()],
		};
		const asked = last.dates.filter((day) => dates.includes(day.date));
		return loaded({ ...last, dates: asked }, { adds: true, table });
	};
	const record = () =>
		sql(
			"SELECT count(*), sum(rows), sum(cardinality(objects)), max(1 + cardinality(xids)) FROM webhooks._tidemill_loads WHERE date = '2026-01-01'",
		);
	await add(date!, "a");
	expect(await add(date!, "b")).toMatchObject({ addedRows: 3 });
	await add(date!, "c");
	expect(await record()).toEqual([["3", "9", "3", null]]);
	await add(today!, "d");
	expect(await record()).toEqual([["1", "9", "3", "3"]]);
	// What Postgres counted is lost by a crash, too. The rows' transactions tell then.
	await server().rows("SELECT pg_stat_reset()", database);
	const added = await add(date!, "e", [date!, today!]);
	expect(added).toMatchObject({
		...{ addedRows: 3, unchangedDates: 1 },
		unfitValues: [{ column: "tag", rows: 15 }],
	});
	expect(added).not.toHaveProperty("repairedDates");
	await add(today!, "f");
	expect(await record()).toEqual([["1", "12", "4", "4"]]);
	await sql("UPDATE webhooks.orders SET body = '' WHERE event_id LIKE '%-b-1'");
	await vi.waitFor(async () =>
		expect(
			await sql(
				"SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'orders_p20260101'",
			),
		).toEqual([["1"]]),
	);
	expect(await add(date!, "g", [date!, today!])).toMatchObject({
		repairedDates: [date],
	});
	expect(await sql(perDate)).toEqual([
		[date, "15", "15"],
		[today, "6", "6"],
	]);
	expect(
		await sql("SELECT count(*) FROM webhooks.orders WHERE body = ''"),
	).toEqual([["0"]]);
});

/** A disk of a few megabytes, for the partitions that a user makes from now on. */
async function smallDisk(user: string, database: string) {
	const { directory, grow } = await memoryDisk("8m");
	onTestFinished(async () => {
		// Or the server has pages left to write to a disk that is gone, and fails at whatever needs their room next.
		await server().rows(`DROP DATABASE ${database} WITH (FORCE)`);
		await server().rows(`DROP TABLESPACE small_${database}`);
	});
	await mkdir(join(directory, "space"), { mode: 0o777 });
	if (isRoot) await chown(join(directory, "space"), 65_534, 65_534);
	for (const sql of [
		`CREATE TABLESPACE small_${database} LOCATION '${join(directory, "space")}'`,
		`GRANT CREATE ON TABLESPACE small_${database} TO ${user}`,
		`ALTER ROLE ${user} SET default_tablespace = small_${database}`,
	])
		await server().rows(sql);
	return { grow: () => grow("256m") };
}

test.skipIf(!isRoot)(
	"on a full disk a Run fails with the server's words, the day stays what it was, and once there is room the next one loads it",
	async () => {
		const { manifest, load, loaded, sql, user, database } =
			await postgresFixture(server());
		const disk = await smallDisk(user, database);
		const date = "2026-03-01";
		const before = eventsOf(date, 3, "a");
		await loaded(await manifest({ [date]: [before] }));
		const large = eventsOf(date, 2_000, "b").map((event) => ({
			...event,
			body: JSON.stringify(randomBytes(8_192).toString("base64")),
		}));
		const more = await manifest({ [date]: [before, large] });
		for (const adds of [true, undefined]) {
			const failed = await load(more, { input: adds ? { adds } : {} });
			expect(failed.result, failed.log).toMatchObject({
				error: {
					code: "PostgresFull",
					retryable: true,
					message: expect.stringContaining("No space left on device"),
				},
			});
			expect(await sql(perDate)).toEqual([[date, "3", "3"]]);
		}
		await disk.grow();
		await loaded(more);
		expect(await sql(perDate)).toEqual([[date, "2003", "2003"]]);
	},
);

test.each([
	["no such host", { host: "nowhere.invalid" }, "PostgresUnavailable"],
	["a metadata address", { host: "169.254.169.254" }, "HostNotAllowed"],
	["a loopback address in a cluster", { isLocal: false }, "HostNotAllowed"],
	["no encryption offered", { sslMode: "verify-full" }, "EncryptionMissing"],
	["no such database", { database: "nothing" }, "DatabaseMissing"],
	["no such schema", { schema: "nothing" }, "DatabaseMissing"],
	["no right", { schema: "pg_catalog" }, "PermissionDenied"],
])("a check with %s says so", async (_, change, code) => {
	const { destination, env } = await postgresFixture(server());
	const { result } = await checkDestination({ ...destination, ...change }, env);
	expect(result).toMatchObject({ outcome: "Failed", error: { code } });
});

test("a statement, a wait for a lock and a transaction that does nothing have an end, of who reads and of a load", async () => {
	const { destination, manifest, loaded, sql, user } = await postgresFixture(
		server(),
	);
	const daysOf = (count: number, tag: string) =>
		manifest({ "2026-03-01": [eventsOf("2026-03-01", count, tag)] });
	const settings =
		"current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')";
	const ends = ["1h", "30s", "10min"];
	expect(await rowsOf(destination, `SELECT ${settings}`)).toEqual([ends]);
	await loaded(await daysOf(2, "a"));
	await sql(
		`CREATE TABLE webhooks.said (statement text, lock text, idle text); GRANT INSERT ON webhooks.said TO ${user};
		CREATE FUNCTION webhooks.say() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO webhooks.said SELECT ${settings}; RETURN new; END $$;
		CREATE TRIGGER say BEFORE INSERT ON webhooks.orders FOR EACH ROW EXECUTE FUNCTION webhooks.say()`,
	);
	await loaded(await daysOf(3, "b"));
	expect(await sql("TABLE webhooks.said")).toEqual([ends, ends, ends]);
});

test("a server that takes a connection and says nothing is given up", async () => {
	const silent = createServer((socket) => socket.on("error", () => undefined));
	silent.listen(0, "127.0.0.1");
	onTestFinished(() => void silent.close());
	const { destination, env } = await postgresFixture(server());
	const { port } = silent.address() as { port: number };
	const { result } = await checkDestination({ ...destination, port }, env);
	expect(result).toMatchObject({
		outcome: "Failed",
		error: { code: "PostgresUnavailable", retryable: true },
	});
});

test("what the Destination leaves out of host, port and database, a Job finds in the Secret, as CloudNativePG makes one, and the Destination wins", async () => {
	const { destination, user, password, database } = await postgresFixture(
		server(),
	);
	const bound = boundInput(destination);
	const { host, port, database: _, ...without } = bound;
	const ofCluster: Record<string, string> = {
		...{ username: user, password, host: host!, port: String(port) },
		...{ dbname: database, uri: "postgresql://nobody:none@192.0.2.1/none" },
	};
	const asked = async (input: PostgresInput, secret: typeof ofCluster) => {
		const folder = await temporaryDirectory("secret");
		for (const [key, env] of Object.entries(fileEnv)) {
			const content = secret[key];
			const file = join(folder, key);
			if (content !== undefined) await writeFile(file, content);
			vi.stubEnv(env, content === undefined ? undefined : file);
		}
		return rowsOf(input, "SELECT current_database(), inet_server_port()::text");
	};
	const here = [[database, String(port)]];
	expect(await asked(without, ofCluster)).toEqual(here);
	const elsewhere = { host: "192.0.2.1", port: "1", dbname: "postgres" };
	expect(await asked(bound, { ...ofCluster, ...elsewhere })).toEqual(here);
	const { dbname: __, ...incomplete } = ofCluster;
	await expect(asked(without, incomplete)).rejects.toMatchObject({
		code: "DatabaseMissing",
	});
});
