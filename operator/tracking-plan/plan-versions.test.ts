import { expect, test } from "vitest";
import { planKey } from "../../packages/contracts/tracking-plan.ts";
import { PlanVersions, routePlanOf } from "./plan-versions.ts";

const key = { namespace: "shop", name: "orders" };
const good = { version: "new", text: "{}", bytes: 2 };
const old = { name: "orders", version: "old" };
const other = { name: "orders", version: "other" };

/** @param documents Those of the plans whose documents are in the bucket. */
function bucketWith(documents: { name: string; version: string }[]) {
	const keys = documents.map((plan) => planKey("shop", plan));
	return {
		plansOf: (account: string) => (account === "shop" ? [old, other] : []),
		hasDocument: (key: string) => keys.includes(key),
	};
}

test.each([
	[
		"the newest good version",
		good,
		old,
		[old],
		{ name: "orders", version: "new" },
	],
	[
		"what it had, until the plan is compiled again",
		undefined,
		old,
		[old, other],
		old,
	],
	[
		"what another route of the account has",
		undefined,
		undefined,
		[other],
		other,
	],
	["no version whose document is gone", undefined, old, [], { name: "orders" }],
	[
		"no other plan's version",
		undefined,
		{ name: "else", version: "x" },
		[],
		{ name: "orders" },
	],
])("a route has %s", (_, version, own, documents, plan) => {
	expect(routePlanOf(key, version, own, bucketWith(documents))).toEqual(plan);
});

test("a route never has another account's plan of the same name", () => {
	const foreign = { namespace: "thief", name: "orders" };
	expect(
		routePlanOf(foreign, undefined, undefined, bucketWith([old, other])),
	).toEqual({ name: "orders" });
});

test("what an account's plans take adds up, and a replaced one counts once", () => {
	const versions = new PlanVersions();
	const changed: string[] = [];
	versions.onChange(({ name }) => changed.push(name));
	versions.set(key, { version: "a", text: "A", bytes: 5 });
	versions.set(
		{ ...key, name: "refunds" },
		{ version: "b", text: "B", bytes: 2 },
	);
	versions.set(key, { version: "c", text: "C", bytes: 3 });
	versions.set(key, { version: "c", text: "C", bytes: 3 });
	expect(versions.bytesOf("shop")).toBe(5);
	expect(
		versions.textOf(planKey("shop", { name: "orders", version: "c" })),
	).toBe("C");
	expect(
		versions.textOf(planKey("shop", { name: "orders", version: "a" })),
	).toBeUndefined();
	versions.set(key, undefined);
	expect(versions.bytesOf("shop")).toBe(2);
	expect(changed).toEqual(["orders", "refunds", "orders", "orders"]);
});
