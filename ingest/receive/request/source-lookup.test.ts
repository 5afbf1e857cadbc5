import { beforeEach, expect, test } from "vitest";
import { routeKey, syncedKey } from "../../../packages/contracts/route.ts";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { refusals } from "./refusal.ts";
import { findSource, RouteTable } from "./route-table.ts";

const sourceKey = "0123456789abcdef".repeat(2);
const urlKey = "a".repeat(32);
const otherUrlKey = "b".repeat(32);
const target = (urlKey: string) => `/hooks/${sourceKey}/${urlKey}`;
let routes: RouteTable;

function issue(urlKey: string): void {
	const route = routeWith(urlKey, sourceKey);
	routes.set(routeKey(sourceKey), JSON.stringify(route));
}

beforeEach(() => {
	routes = new RouteTable();
	issue(urlKey);
	routes.set(syncedKey, "");
});

test("a URL leads to its source every time; a URL with another URL key leads nowhere", () => {
	for (let i = 0; i < 2; i++) {
		expect(findSource(target(urlKey), routes)).toMatchObject({
			route: { source: "orders" },
			address: { sourceKey, urlKey, token: undefined },
		});
		expect(findSource(target(otherUrlKey), routes)).toBe(refusals.UnknownURL);
	}
});

test("a rotated URL key is refused at once, even if it was remembered", () => {
	findSource(target(urlKey), routes);
	findSource(target(urlKey), routes);
	issue(otherUrlKey);
	expect(findSource(target(urlKey), routes)).toBe(refusals.UnknownURL);
	expect(findSource(target(otherUrlKey), routes)).toHaveProperty("route");
	routes.set(routeKey(sourceKey), undefined);
	expect(findSource(target(otherUrlKey), routes)).toBe(refusals.UnknownURL);
});

test("each request's own token is used, and none is remembered", () => {
	for (const token of ["one", "two"])
		expect(
			findSource(`${target(urlKey)}?token=${token}`, routes),
		).toMatchObject({
			address: { token },
		});
	expect(routes.remembered(`${target(urlKey)}?token=one`)).toBeUndefined();
	expect(findSource(target(urlKey), routes)).toMatchObject({
		address: { token: undefined },
	});
});
