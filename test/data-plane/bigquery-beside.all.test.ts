// On a laptop nothing proves this: it is BigQuery's alone, and `make test` loads DuckDB and Postgres.
import { afterEach, expect, test, vi } from "vitest";
import type {
	Manifest,
	ManifestErasure,
} from "../../packages/contracts/manifest.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { eventsOf } from "../support/fixtures/data-plane/load-fixture.ts";

/* What people add to a table, and what Runs do with it: the rows of the table in the docs. */

afterEach(() => void vi.unstubAllEnvs());

const [first, second] = ["2026-03-01", "2026-03-02"] as const;

async function sceneOf() {
	const fixture = await bigQueryFixture();
	const days = await fixture.manifest({
		[first]: [eventsOf(first, 3, "a")],
		[second]: [eventsOf(second, 1, "a")],
	});
	await fixture.loaded(days);
	const erasing = (what: Partial<ManifestErasure>): Manifest => ({
		...days,
		run: crypto.randomUUID(),
		asked: { extent: "Chosen" },
		dates: days.dates.slice(1),
		erasures: {
			asked: 1,
			others: [{ mode: "RemoveRow", before: second, ...what }],
		},
	});
	return { ...fixture, days, erasing };
}

test("a column of a person's is NULL in the rows that come, and an Erase blanks it", async () => {
	const { double, days, erasing, loaded, rows, reference, orders } =
		await sceneOf();
	const fields = [
		...orders().schema!.fields!,
		{ name: "place", type: "STRING" },
	];
	await double.warehouse.changeTable(
		reference,
		{ schema: { fields } },
		undefined,
	);
	await rows("UPDATE shop.orders SET place = 'there'");
	await loaded({
		...days,
		run: crypto.randomUUID(),
		dates: days.dates.slice(1),
	});
	await loaded(erasing({ mode: "BlankBody", eventIDs: [`${first}-a-1`] }));
	expect(
		await rows("SELECT event_id, place FROM shop.orders ORDER BY event_id"),
	).toEqual([
		[`${first}-a-0`, "there"],
		[`${first}-a-1`, null],
		[`${first}-a-2`, "there"],
		[`${second}-a-0`, null],
	]);
});

test.each<[string, Partial<ManifestErasure>]>([
	["by a value", { match: { bodyPointer: "/index", equalsNumber: "1" } }],
	["by its id", { eventIDs: [`${first}-a-1`] }],
])(
	"an Erase of an event %s is refused where a row access policy hides rows, and done where one shows all",
	async (_, what) => {
		const { double, erasing, load, loaded, rows } = await sceneOf();
		const access = { rowAccessPolicies: ["some"], roles: [] };
		const hiding = { ...access, filter: `event_id <> '${first}-a-1'` };
		double.warehouse.access.set("shop.orders", hiding);
		const { result } = await load(erasing(what));
		expect(result).toMatchObject({
			error: {
				code: "RowsHidden",
				message: expect.stringMatching(
					/hides 1 rows of table orders.*FILTER USING \(TRUE\)/s,
				),
			},
		});
		double.warehouse.access.set("shop.orders", access);
		expect(await loaded(erasing(what))).toMatchObject({ erasedRows: 1 });
		expect(await rows("SELECT count(*)::INT FROM shop.orders")).toEqual([[3]]);
	},
);

test.each(["invalidQuery", "invalid"])(
	"an Erase whose statement BigQuery refuses (%s) tells no word of its message, which may quote what is erased",
	async (reason) => {
		const { double, erasing, load, rows } = await sceneOf();
		double.jobs.failNext(reason, "Bad value: MARKED-7f3a at [1:40]");
		const { result, log } = await load(erasing({ eventIDs: [`${first}-a-1`] }));
		expect(result).toMatchObject({
			error: { message: expect.stringContaining(`(${reason})`) },
		});
		expect(JSON.stringify(result) + log).not.toContain("MARKED");
		expect(await rows("SELECT count(*)::INT FROM shop.orders")).toEqual([[4]]);
	},
);
