import { expect, test } from "vitest";
import { type Route, routeKey } from "../../../contracts/route.ts";
import { decide } from "./decide.ts";

const route: Route = {
	version: 1,
	account: "a",
	source: "orders",
	sourceKey: "0".repeat(32),
	urlKeyDigest: "d",
	shard: 0,
	suspended: false,
	authorization: { type: "None" },
	maxBodyBytes: 1024,
	capturedHeaders: [],
};
const key = routeKey(route.sourceKey);
const ours = new Map([[route.sourceKey, "a"]]);
const theirs = new Map([[route.sourceKey, "b"]]);

test.each<[string, Parameters<typeof decide>, ReturnType<typeof decide>]>([
	[
		"a new route's key is claimed before the route is put",
		[[route], new Map(), new Map()],
		{ claim: [route], put: [], remove: [] },
	],
	[
		"a claimed route is put",
		[[route], ours, new Map()],
		{ claim: [], put: [route], remove: [] },
	],
	[
		"an equal route is left alone",
		[[route], ours, new Map([[key, structuredClone(route)]])],
		{ claim: [], put: [], remove: [] },
	],
	[
		"a changed route is replaced",
		[[route], ours, new Map([[key, { ...route, suspended: true }]])],
		{ claim: [], put: [route], remove: [] },
	],
	[
		"an unreadable entry is replaced",
		[[route], ours, new Map([[key, undefined]])],
		{ claim: [], put: [route], remove: [] },
	],
	[
		"a route without a Source is removed",
		[[], ours, new Map([[key, route]])],
		{ claim: [], put: [], remove: [key] },
	],
	[
		"a source key of another account is not published, and its route is removed",
		[[route], theirs, new Map([[key, route]])],
		{ claim: [], put: [], remove: [key] },
	],
	[
		"the older of two Sources with one source key has it",
		[[route, { ...route, source: "copy" }], ours, new Map()],
		{ claim: [], put: [route], remove: [] },
	],
	[
		"an older Source of another account does not take the key from its claimant",
		[[{ ...route, account: "b" }, route], ours, new Map()],
		{ claim: [], put: [route], remove: [] },
	],
	[
		"if two accounts want an unclaimed key, the older Source claims it",
		[[route, { ...route, account: "b" }], new Map(), new Map()],
		{ claim: [route], put: [], remove: [] },
	],
])("%s", (_, input, plan) => {
	expect(decide(...input)).toEqual(plan);
});
