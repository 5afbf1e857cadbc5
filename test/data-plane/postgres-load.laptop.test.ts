import { createServer } from "node:net";
import { expect, test, vi } from "vitest";
import {
	cleartext,
	md5,
	OtherPostgres,
} from "../support/doubles/other-postgres.ts";
import { executedFiles } from "../support/executed-files/executed-files.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import { eventsOf } from "../support/fixtures/data-plane/load-fixture.ts";
import {
	postgresFixture,
	postgresOfFile,
} from "../support/fixtures/data-plane/postgres-fixture.ts";
import { TcpProxy } from "../support/proxies/tcp-proxy.ts";

/* A Run into Postgres changes a day as a whole, for whoever reads and whatever happens to its process. */

const server = postgresOfFile();

/** There are 56, and the aim is 32: lower it with them. */
const mostFiles = 57;

const [first, second] = ["2026-03-01", "2026-03-02"] as const;

async function scene() {
	const fixture = await postgresFixture(server());
	return {
		...fixture,
		twoDays: (tag: string, rows: number) =>
			fixture.manifest({
				[first]: [eventsOf(first, rows, tag)],
				[second]: [eventsOf(second, rows, tag)],
			}),
		perDate: async () =>
			(
				await fixture.sql(
					"SELECT date, body::json->>'tag', count(*), count(DISTINCT event_id) FROM webhooks.orders GROUP BY 1, 2 ORDER BY 1, 2",
				)
			).map(([date, ...found]) => [date, ...found].join(" ")),
	};
}

test("a check passes and leaves nothing, and a Run makes a table with a partition for each day", async () => {
	const { destination, env, loaded, twoDays, perDate, sql } = await scene();
	const checked = await checkDestination(destination, env);
	expect(checked.exitCode, checked.log).toBe(0);
	const tables = () =>
		sql(
			"SELECT relname FROM pg_class WHERE relnamespace = 'webhooks'::regnamespace AND relkind IN ('r', 'p') AND relname <> '_tidemill_loads' ORDER BY 1",
		);
	expect(await tables()).toEqual([]);
	await loaded(await twoDays("a", 3));
	expect(await perDate()).toEqual([`${first} a 3 3`, `${second} a 3 3`]);
	expect((await tables()).flat()).toEqual([
		...["orders", "orders_p20260301", "orders_p20260302"],
	]);
});

test.each([
	["in the middle of COPY", "COPY", "-new-7", "before", "old"],
	["before its commit", "COPY", "COMMIT", "before", "old"],
	["after its commit, before the answer", "COPY", "COMMIT", "after", "new"],
] as const)(
	"a Run that is killed %s leaves each day as it was or as it will be, and the next attempt does the rest",
	async (_, since, text, when, tag) => {
		const { start, destination, loaded, twoDays, perDate } = await scene();
		await loaded(await twoDays("old", 10));
		const proxy = await TcpProxy.start(server().port);
		const next = await twoDays("new", 20);
		const reached = proxy.stallAt(text, when, since);
		const run = await start(next, {
			input: { destination: { ...destination, port: proxy.port } },
		});
		const ended = run.finish();
		await Promise.race([reached, ended]);
		run.process.child.kill("SIGKILL");
		expect((await ended).exitCode).toBeNull();
		await proxy.close();
		const rows = tag === "old" ? 10 : 20;
		// The server may still be about to do what it was told.
		await vi.waitFor(async () =>
			expect(await perDate()).toEqual([
				`${first} ${tag} ${rows} ${rows}`,
				`${second} old 10 10`,
			]),
		);
		await loaded(next);
		expect(await perDate()).toEqual([
			`${first} new 20 20`,
			`${second} new 20 20`,
		]);
	},
);

test("a REPEATABLE READ transaction counts the old day after a Run has replaced it, and no new one", async () => {
	const { manifest, loaded, twoDays, database } = await scene();
	await loaded(await manifest({ [first]: [eventsOf(first, 3, "a")] }));
	const reader = await server().connect(database);
	const count = async () =>
		(await reader.query("SELECT count(*) FROM webhooks.orders")).rows[0].count;
	await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
	expect(await count()).toBe("3");
	// The reader still holds its lock on the table, so no Run may need one against readers.
	await loaded(await twoDays("b", 5));
	expect(await count()).toBe("3");
	await reader.query("COMMIT");
	expect(await count()).toBe("10");
	await reader.end();
});

test("a reload of the same events changes no row, so that what refers to them by ON DELETE CASCADE stays", async () => {
	const { loaded, twoDays, perDate, sql, user } = await scene();
	const days = await twoDays("a", 3);
	await loaded(days);
	await sql(
		`ALTER TABLE webhooks.orders ADD CONSTRAINT once UNIQUE (event_id, date);
		CREATE TABLE webhooks.notes (event_id text, date date, FOREIGN KEY (event_id, date) REFERENCES webhooks.orders (event_id, date) ON DELETE CASCADE);
		ALTER TABLE webhooks.notes OWNER TO ${user}; INSERT INTO webhooks.notes SELECT event_id, date FROM webhooks.orders`,
	);
	const rows = () =>
		sql(
			"SELECT event_id, concat_ws(' ', xmin, ctid) FROM webhooks.orders UNION ALL SELECT event_id, 'note' FROM webhooks.notes ORDER BY 1, 2",
		);
	const before = await rows();
	await loaded(days);
	expect(await rows()).toEqual(before);
	await loaded(await twoDays("b", 1));
	expect(await perDate()).toEqual([`${first} b 1 1`, `${second} b 1 1`]);
});

test("neither the password nor a word of a server that isn't Postgres is quoted", async () => {
	const listener = createServer((socket) => {
		socket.on("error", () => undefined);
		socket.end("SSH-2.0-secret words\r\n");
	}).listen(0, "127.0.0.1");
	const { destination, env, password, user, sql } = await scene();
	const { port } = listener.address() as { port: number };
	const ends = [await checkDestination({ ...destination, port }, env)];
	listener.close();
	await sql(`ALTER ROLE ${user} PASSWORD 'another'`);
	ends.push(await checkDestination(destination, env));
	for (const { result, log } of ends) {
		expect(result).toMatchObject({ outcome: "Failed" });
		for (const words of ["secret words", password])
			expect(JSON.stringify(result) + log).not.toContain(words);
	}
	expect(ends[1]!.result).toMatchObject({
		error: { code: "CredentialsRefused" },
	});
});

test.each([
	["in clear text", cleartext],
	["as an MD5 digest", md5],
])(
	"a server that nothing verifies and that asks for the password %s gets no byte of it",
	async (_, step) => {
		const other = await OtherPostgres.start([step]);
		const { destination, env, password } = await scene();
		const { port } = other;
		const { result } = await checkDestination({ ...destination, port }, env);
		await other.close();
		expect(result).toMatchObject({ error: { code: "ServerUnverified" } });
		expect(other.text).toContain("user\0");
		expect(other.text).not.toContain(password);
		expect(other.text).not.toContain("md5");
	},
);

test("a Run that replaces two days executes few files, so that whoever looks for a fault reads few", async () => {
	const { loaded, twoDays } = await scene();
	await loaded(await twoDays("a", 3));
	const next = await twoDays("b", 3);
	const executed = await executedFiles(() => loaded(next));
	const product = executed.filter((file) => !file.startsWith("test/"));
	expect(product).toContain("packages/warehouses/postgres/load/copy.ts");
	expect(product.length, product.join("\n")).toBeLessThanOrEqual(mostFiles);
});
