// In make test: test/faults/data-plane/load-crashes.laptop.test.ts
import { expect, test } from "vitest";
import { killedBy, type Strike } from "./bigquery-crashes-cases.ts";

/** The table says that it is being changed; the rows are sent; a job is asked about or an empty day is deleted. After each request: bigquery-crashes.deep.test.ts. */
const strikes: Strike[] = [
	({ method }) => method === "PATCH",
	({ path }) => path.startsWith("/upload/"),
	({ method, path }) => method === "DELETE" || /\/jobs\/tidemill_/.test(path),
];

test.each(["Incremental", "FullReload"] as const)(
	"%s: killed at a step that changes something, and tried again, a load gives the same table",
	async (strategy) => {
		expect(await killedBy(strategy, strikes)).toBe(strikes.length);
	},
);
