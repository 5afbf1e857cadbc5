import { expect, test } from "vitest";
import { quoteText } from "../packages/duckdb/quoting.ts";
import { Session } from "../packages/duckdb/session.ts";
import { documentedText } from "./support/examples/documented.ts";

/* Queries of pages in DuckDB's language, word for word. Those in other languages run on servers: test/data-plane/documented-sql.all.test.ts. */

test("the query of violations counts each kind of deviation by type and path", async () => {
	const violations = (...found: object[]) =>
		quoteText(
			JSON.stringify({ plan: "orders", type: "order", violations: found }),
		);
	const total = { kind: "ValueMismatch", path: "/total" };
	const coupon = { kind: "UnplannedProperty", path: "/coupon" };
	const session = await Session.inMemory({}, new AbortController().signal);
	try {
		await session.run(
			`CREATE TABLE orders AS SELECT * FROM (VALUES (${violations(total, coupon)}), (NULL), (${violations(total)})) AS t(violations)`,
		);
		const rows = await session.rows(
			documentedText("docs/columns.md#violations sql"),
		);
		const type = "order";
		expect(rows).toMatchObject([
			{ type, ...total, events: 2n },
			{ type, ...coupon, events: 1n },
		]);
	} finally {
		session.close();
	}
});
