import { beforeEach, expect, test } from "vitest";
import { routeKey, syncedKey } from "../../../packages/contracts/route.ts";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { RouteEntries } from "./entries.ts";

const route = routeWith("url", "0".repeat(32));
const other = { ...route, suspended: true };
const text = JSON.stringify(route);
const key = routeKey(route.sourceKey);

let drifts: number;
let entries: RouteEntries;

/** Which holds one route, at revision 5. */
beforeEach(async () => {
	drifts = 0;
	entries = new RouteEntries(() => drifts++);
	entries.begin();
	entries.set(key, text, 5);
	entries.set(syncedKey, "now", 6);
	entries.complete();
	drifts = 0;
});

test.each<[string, string | undefined]>([
	["replaced", JSON.stringify(other)],
	["made unreadable", "{"],
	["removed", undefined],
])("a route that somebody else has %s is a drift", (_, value) => {
	entries.set(key, value, 7);
	expect(drifts).toBe(1);
	expect(entries.routes().has(key)).toBe(value !== undefined);
	expect(entries.revisionOf(key)).toBe(value === undefined ? undefined : 7);
});

test("a marker that somebody else has removed is a drift", () => {
	entries.set(syncedKey, undefined, 7);
	expect([drifts, entries.mark]).toEqual([1, undefined]);
});

test("a write of this process is no drift, whether its answer or the watch comes first", async () => {
	await entries.write(key, other, async () => {
		entries.set(key, JSON.stringify(other), 7);
		return 7;
	});
	await entries.write(key, route, async () => 8);
	entries.set(key, text, 8);
	await entries.remove(key, async () => {});
	entries.set(key, undefined, 9);
	expect([drifts, entries.routes().size]).toEqual([0, 0]);
});

test("what somebody else writes during a write of this process is a drift", async () => {
	await entries.write(key, other, async () => {
		entries.set(key, JSON.stringify(other), 7);
		entries.set(key, text, 8);
		return 7;
	});
	expect([drifts, entries.get(key), entries.revisionOf(key)]).toEqual([
		1,
		route,
		8,
	]);
});

test("a late report of an earlier write brings nothing back", async () => {
	await entries.write(key, other, async () => 7);
	entries.set(key, text, 5);
	expect(entries.get(key)).toEqual(other);
	await entries.remove(key, async () => {});
	entries.set(key, JSON.stringify(other), 7);
	expect([drifts, entries.get(key), entries.revisionOf(key)]).toEqual([
		0,
		undefined,
		undefined,
	]);
});

test("a bucket that was made anew counts once it was read whole, and is a drift unless somebody asked for the reading", async () => {
	entries.begin();
	expect([entries.get(key), entries.mark]).toEqual([route, {}]);
	entries.complete();
	expect([drifts, entries.get(key), entries.mark]).toEqual([
		1,
		undefined,
		undefined,
	]);
	const reading = entries.nextReading();
	entries.begin();
	entries.complete();
	await reading;
	expect(drifts).toBe(1);
});
