import { expect, test } from "vitest";
import { type Route, routeKey } from "../../../packages/contracts/route.ts";
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
		"a new route's key is taken before the route is put",
		[[route], new Map(), new Map()],
		{ take: [route], put: [], remove: [] },
	],
	[
		"a route whose key is taken is put",
		[[route], ours, new Map()],
		{ take: [], put: [route], remove: [] },
	],
	[
		"an equal route is left alone",
		[[route], ours, new Map([[key, structuredClone(route)]])],
		{ take: [], put: [], remove: [] },
	],
	[
		"a changed route is replaced",
		[[route], ours, new Map([[key, { ...route, suspended: true }]])],
		{ take: [], put: [route], remove: [] },
	],
	[
		"an unreadable entry is replaced",
		[[route], ours, new Map([[key, undefined]])],
		{ take: [], put: [route], remove: [] },
	],
	[
		"a route without a Source is removed",
		[[], ours, new Map([[key, route]])],
		{ take: [], put: [], remove: [key] },
	],
	[
		"a source key of another account is not published, and its route is removed",
		[[route], theirs, new Map([[key, route]])],
		{ take: [], put: [], remove: [key] },
	],
	[
		"the older of two Sources with one source key has it",
		[[route, { ...route, source: "copy" }], ours, new Map()],
		{ take: [], put: [route], remove: [] },
	],
	[
		"an older Source of another account does not take the key from its owner",
		[[{ ...route, account: "b" }, route], ours, new Map()],
		{ take: [], put: [route], remove: [] },
	],
	[
		"if two accounts want the same free key, the older Source takes it",
		[[route, { ...route, account: "b" }], new Map(), new Map()],
		{ take: [route], put: [], remove: [] },
	],
])("%s", (_, input, plan) => {
	expect(decide(...input)).toEqual(plan);
});
