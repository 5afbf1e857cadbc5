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

test("an endpoint that streams has no method", () => {
	const [first] = endpoints;
	const stream = { ...first!, produces: "text/event-stream" as "text/plain" };
	expect(pythonOperationsText([stream])).not.toContain("def list");
});
