// In make test: test/data-plane/warehouses/duckdb.laptop.test.ts
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	first,
	later,
} from "../support/fixtures/data-plane/conforming-days.ts";
import { tablesFor } from "../support/fixtures/data-plane/event-type-days.ts";
import { loadFixture } from "../support/fixtures/data-plane/load-fixture.ts";

test("a DuckDB file is opened as often for many types as for one, and each table is compressed as its own bodies are best", async () => {
	const { load, manifest, rows, file } = await loadFixture();
	const opened = vi.spyOn(DuckDBInstance, "create");
	onTestFinished(() => opened.mockRestore());
	const events = Array.from({ length: 6_000 }, (_, index) => ({
		event_id: `e${index}`,
		timestampMs: Date.parse(first) + index,
		body: JSON.stringify(
			index % 2 ? { type: "sent" } : { type: "paid", index, key: index ** 3 },
		),
	}));
	const days = await manifest({ [first]: [events] });
	const opens: number[] = [];
	for (const types of [["paid"], ["paid", "odd", "sent"]]) {
		opened.mockClear();
		const end = await load(later(days), {
			input: { eventTypes: tablesFor(...types) },
		});
		expect(end.exitCode, end.log).toBe(0);
		opens.push(opened.mock.calls.filter(([path]) => path === file).length);
	}
	// To ask what it holds, to ask what would be lost, for the tables, and for their views.
	expect(opens).toEqual([4, 4]);
	const compressions = (table: string) =>
		rows(
			`SELECT DISTINCT compression FROM pragma_storage_info('orders_${table}') WHERE column_name = 'body' AND segment_type = 'VARCHAR'`,
		);
	expect(await compressions("sent")).toEqual([["Dictionary"]]);
	// DuckDB tries FSST on a sample that it draws by chance.
	expect([["FSST"], ["Uncompressed"]]).toContainEqual(
		(await compressions("paid"))[0],
	);
});
