// In make test: test/faults/data-plane/load-crashes.laptop.test.ts
import { expect, test } from "vitest";
import { killedBy, type Strike } from "./bigquery-crashes-cases.ts";

function* eachRequest(): Generator<Strike> {
	for (let point = 1; ; point++) yield (_, asked) => asked === point;
}

test.each(["Incremental", "FullReload"] as const)(
	"%s: killed after each of its requests, and tried again, a load gives the same table",
	async (strategy) => {
		expect(await killedBy(strategy, eachRequest())).toBeGreaterThan(10);
	},
);
