import { expect, test } from "vitest";
import { Fuel } from "./metered/fuel.ts";
import { PlanTools } from "./metered/tools.ts";
import { cacheOf, programOf } from "./program.ts";

test("code runs with its cache, with none, and with that of another code or another V8", () => {
	const code = 'exports.answer = () => 42; // "line"';
	const caches = [
		undefined,
		cacheOf(code),
		cacheOf("exports.answer = () => 43;"),
		Buffer.from("something else"),
	];
	for (const cache of caches) {
		const exported: { answer?: () => number } = {};
		const fuel = new Fuel();
		programOf(code, cache)(exported, new PlanTools(fuel), fuel);
		expect(exported.answer!()).toBe(42);
	}
});
