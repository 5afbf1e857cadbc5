import { expect, test } from "vitest";
import { runOf } from "../../test/support/examples/resource-examples.ts";
import { obstacle, type Rival, type Writer } from "./turn.ts";

const warehouse = { name: "DuckDB:a", label: "aaaa" };
const createdAt = (minute: number) => `2026-03-01T00:0${minute}:00Z`;
const run = runOf("run", undefined, { createdAt: createdAt(5) });

function rival(
	minute: number,
	options: { running?: boolean; warehouse?: string | undefined } = {},
): Rival {
	const status = options.running ? { phase: "Running" as const } : undefined;
	return {
		run: runOf("rival", status, { createdAt: createdAt(minute) }),
		warehouse: "warehouse" in options ? options.warehouse : warehouse.name,
	};
}

test.each<[string, Rival[], Writer[], boolean]>([
	["nobody is there", [], [], true],
	["an older Run waits for the same file", [rival(1)], [], false],
	["a younger one does", [rival(9)], [], true],
	["a younger one is at work", [rival(9, { running: true })], [], false],
	["an older one can't run", [rival(1, { warehouse: undefined })], [], true],
	["an older one has another file", [rival(1, { warehouse: "b" })], [], true],
	[
		"the Pods of a Run that was deleted are still there",
		[],
		[{ run: "gone", warehouseLabel: "aaaa" }],
		false,
	],
	[
		"Pods write to another file",
		[],
		[{ run: "gone", warehouseLabel: "bbbb" }],
		true,
	],
])("when %s", (_, rivals, writers, free) => {
	const found = obstacle(run, warehouse, rivals, writers);
	expect(found === undefined).toBe(free);
});

test("of any two Runs one goes first, also of the same second", () => {
	const names = ["a", "b"];
	const [a, b] = names.map((name) => runOf(name)) as [typeof run, typeof run];
	const first = (one: typeof run, other: typeof run) =>
		obstacle(one, warehouse, [{ run: other, warehouse: warehouse.name }], []);
	expect(first(a, b)).toBeUndefined();
	expect(first(b, a)).toContain('"a"');
});
