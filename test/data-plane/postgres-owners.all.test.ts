// In make test: test/data-plane/warehouses/postgres.laptop.test.ts
import { expect, test } from "vitest";
import { postgresBeside } from "../support/fixtures/data-plane/postgres-beside.ts";
import { postgresOfFile } from "../support/fixtures/data-plane/postgres-fixture.ts";

/* What other roles own of a table: pg_partman makes partitions as its own role, and somebody gives a table away. */

const server = postgresOfFile();
const [first, second] = ["2026-03-01", "2026-03-02"] as const;
const partition = "webhooks.orders_p20260301";

async function besideOthers() {
	const fixture = await postgresBeside(server());
	const { database, sql, load } = fixture;
	// Roles are the server's, not the database's.
	const other = `${database}_other`;
	await sql(
		`CREATE ROLE ${other}; GRANT USAGE, CREATE ON SCHEMA webhooks TO ${other}`,
	);
	/** The statements of the message, by which the failure ends. */
	const remedy = async (...args: Parameters<typeof load>): Promise<string> => {
		const { result } = await load(...args);
		expect(result).toMatchObject({
			error: { code: "NotOwner", retryable: false },
		});
		const { message } = (result as { error: { message: string } }).error;
		expect(message).toContain(`of "${other}"`);
		return /can give them: (.*;)/.exec(message)![1]!;
	};
	const days = () =>
		sql(
			"SELECT date::text, count(*) FROM webhooks.orders GROUP BY 1 ORDER BY 1",
		);
	return { ...fixture, other, remedy, days };
}

test("a Run that changes a partition of another role is refused before anything changes, with what to grant; one of other days goes on", async () => {
	const { daysOf, loaded, sql, other, remedy, days, user } =
		await besideOthers();
	await loaded(await daysOf({ [first]: 3, [second]: 3 }));
	await sql(`ALTER TABLE ${partition} OWNER TO ${other}`);
	const both = () => daysOf({ [second]: 5, [first]: 4 }, "b");
	const statement = await remedy(await both());
	expect(statement).toBe(
		`GRANT SELECT, INSERT, UPDATE, DELETE ON ${partition} TO "${user}";`,
	);
	expect(await days()).toEqual([
		[first, "3"],
		[second, "3"],
	]);
	await loaded(await daysOf({ [second]: 6 }, "c"));
	await sql(statement);
	await loaded(await both());
	expect(await days()).toEqual([
		[first, "4"],
		[second, "5"],
	]);
});

test("an empty partition that another role has made beforehand is refused, too, and filled once it is granted", async () => {
	const { daysOf, loaded, sql, other, remedy, days } = await besideOthers();
	await loaded(await daysOf({ [second]: 3 }));
	await sql(
		`CREATE TABLE webhooks.ahead PARTITION OF webhooks.orders FOR VALUES FROM ('${first}') TO ('${second}'); ALTER TABLE webhooks.ahead OWNER TO ${other}`,
	);
	const manifest = await daysOf({ [first]: 2 });
	await sql(await remedy(manifest));
	await loaded(manifest);
	expect(await days()).toEqual([
		[first, "2"],
		[second, "3"],
	]);
});

test("an Erase reaches the rows of a partition that another role owns, and says what to grant of one that is detached", async () => {
	const { daysOf, erasure, loaded, sql, other, days } = await besideOthers();
	await loaded(await daysOf({ [first]: 3, [second]: 3 }));
	await sql(`ALTER TABLE ${partition} OWNER TO ${other}`);
	expect(
		await loaded(await erasure({ eventIDs: [`${first}-a-1`] })),
	).toMatchObject({ erasedRows: 1 });
	expect(await days()).toEqual([
		[first, "2"],
		[second, "3"],
	]);
	await sql(`ALTER TABLE webhooks.orders DETACH PARTITION ${partition}`);
	const two = {
		eventIDs: [`${first}-a-0`, `${second}-a-0`],
		before: "2026-03-04",
	};
	const { warning, erasedRows } = (await loaded(await erasure(two))) as {
		warning: string;
		erasedRows: number;
	};
	expect(erasedRows).toBe(1);
	const [statement] = /GRANT SELECT, UPDATE, DELETE ON [^;]+/.exec(warning)!;
	expect(statement).toContain(partition);
	await sql(statement);
	expect(await loaded(await erasure(two))).toMatchObject({ erasedRows: 1 });
	expect(await sql(`SELECT count(*) FROM ${partition}`)).toEqual([["1"]]);
});

test.each([
	[
		"the table",
		"ALTER TABLE webhooks.orders OWNER TO",
		"ALTER TABLE webhooks.orders OWNER TO",
	],
	[
		"what records the loads",
		"ALTER TABLE webhooks._tidemill_loads OWNER TO",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks._tidemill_loads TO",
	],
	[
		"the sequence of a column's default",
		"CREATE SEQUENCE webhooks.numbers; ALTER TABLE webhooks.orders ADD n bigint DEFAULT nextval('webhooks.numbers'); ALTER SEQUENCE webhooks.numbers OWNER TO",
		"GRANT USAGE ON SEQUENCE webhooks.numbers TO",
	],
])(
	"a Run is refused where another role owns %s, and goes on by what the message says",
	async (_, given, statement) => {
		const { daysOf, loaded, sql, other, remedy, days, user } =
			await besideOthers();
		await loaded(await daysOf({ [first]: 3 }));
		await sql(`${given} ${other}`);
		const manifest = await daysOf({ [first]: 4 }, "b");
		const said = await remedy(manifest);
		expect(said).toBe(`${statement} "${user}";`);
		expect(await days()).toEqual([[first, "3"]]);
		await sql(said);
		await loaded(manifest);
		expect(await days()).toEqual([[first, "4"]]);
	},
);

test("a table of a role that ours is a member of is loaded, unless it inherits none of its rights", async () => {
	const { daysOf, loaded, sql, other, remedy, days, user } =
		await besideOthers();
	await loaded(await daysOf({ [first]: 3 }));
	await sql(
		`GRANT ${other} TO ${user}; ALTER TABLE webhooks.orders OWNER TO ${other}; ALTER TABLE ${partition} OWNER TO ${other}`,
	);
	const manifest = await daysOf({ [first]: 4 }, "b");
	await loaded(manifest);
	expect(await days()).toEqual([[first, "4"]]);
	await sql(
		`REVOKE ${other} FROM ${user}; ALTER ROLE ${user} NOINHERIT; GRANT ${other} TO ${user}`,
	);
	const again = await daysOf({ [first]: 5 }, "c");
	await sql(await remedy(again));
	await loaded(again);
	expect(await days()).toEqual([[first, "5"]]);
});
