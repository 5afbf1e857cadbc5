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
		"a route that differs is replaced",
		[[route], ours, new Map([[key, { ...route, suspended: true }]])],
		{ claim: [], put: [route], remove: [] },
	],
	[
		"an entry that can't be read is replaced",
		[[route], ours, new Map([[key, undefined]])],
		{ claim: [], put: [route], remove: [] },
	],
	[
		"a route of no Source is removed",
		[[], ours, new Map([[key, route]])],
		{ claim: [], put: [], remove: [key] },
	],
	[
		"a key of another account is not published, and what stands there is removed",
		[[route], theirs, new Map([[key, route]])],
		{ claim: [], put: [], remove: [key] },
	],
	[
		"of two Sources with one key the older has it",
		[[route, { ...route, source: "copy" }], ours, new Map()],
		{ claim: [], put: [route], remove: [] },
	],
	[
		"an older Source of another account doesn't shadow the claimant",
		[[{ ...route, account: "b" }, route], ours, new Map()],
		{ claim: [], put: [route], remove: [] },
	],
	[
		"of two accounts that want an unclaimed key the older Source claims it",
		[[route, { ...route, account: "b" }], new Map(), new Map()],
		{ claim: [route], put: [], remove: [] },
	],
])("%s", (_, input, plan) => {
	expect(decide(...input)).toEqual(plan);
});
