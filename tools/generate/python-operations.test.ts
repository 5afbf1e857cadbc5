import { expect, test } from "vitest";
import { endpoints } from "../../api/endpoints.ts";
import { methodName } from "./client-methods.ts";
import { pythonOperationsText } from "./python-operations.ts";
import { isPythonName } from "./python-types.ts";

test.each([
	["listTrackingPlans", "list"],
	["createSource", "create"],
	["rotateSourceURL", "rotate_url"],
	["sendTestEvent", "send_test_event"],
	["startRun", "start_run"],
	["getRunLogs", "get_logs"],
])("the endpoint %s is the method %s", (id, expected) => {
	const endpoint = endpoints.find((one) => one.id === id)!;
	expect(methodName(endpoint)).toBe(expected);
});

test("no two endpoints of a collection are one method", () => {
	const names = endpoints.map(
		(one) => `${one.path.split("/")[2]}.${methodName(one)}`,
	);
	expect(names).toHaveLength(new Set(names).size);
});

test("no parameter has a name that Python reserves", () => {
	const text = pythonOperationsText(endpoints);
	const names = [...text.matchAll(/[(*,] (\w+): /g)].map(([, name]) => name);
	expect(names).toContain("limit");
	expect(names.filter((name) => !isPythonName(name!))).toEqual([]);
});

test("each endpoint is a method, a stream gives its events one by one, and a list its pages", () => {
	const text = pythonOperationsText(endpoints);
	for (const endpoint of endpoints)
		expect(text).toContain(`def ${methodName(endpoint)}(self`);
	expect(text).toMatch(
		/def tail_events\(.*\) -> AsyncIterator\[StreamedEvent\]:/,
	);
	expect(text).toMatch(/def follow\(.*\) -> Iterator\[StreamedEvent\]:/);
	expect(text).toMatch(/async def each_events\(.*\) -> AsyncIterator\[/);
});
