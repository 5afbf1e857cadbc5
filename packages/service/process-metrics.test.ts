import { expect, test } from "vitest";
import { processRegistry } from "./health-server.ts";

test("no metric of a process has a counter's name unless it is one", () => {
	// prom-client's own type calls the kind a number.
	const metrics = processRegistry().getMetricsAsArray() as unknown as {
		name: string;
		type: string;
	}[];
	expect(metrics.length).toBeGreaterThan(15);
	expect(
		metrics.filter(
			({ name, type }) => name.endsWith("_total") !== (type === "counter"),
		),
	).toEqual([]);
});
