import { expect, test } from "vitest";
import { itemsFor, type PaletteView } from "./items.ts";

const view: PaletteView = {
	names: {
		sources: ["orders", "shop-orders"],
		destinations: ["warehouse"],
		pipelines: ["orders"],
		trackingplans: ["strict"],
		runs: ["orders-29f"],
	},
	managed: new Set(["pipelines/orders"]),
	pages: [
		{ path: "home", title: "Home" },
		{ path: "runs", title: "Runs" },
	],
	can: () => true,
};
const found = (text: string, changes: Partial<PaletteView> = {}) =>
	itemsFor(text, { ...view, ...changes }).map(
		({ label, kind, to, asks }) => `${label} · ${kind} · ${to ?? asks?.does}`,
	);

test("the name itself comes first, then what begins with it, then what has it", () => {
	expect(found("orders")).toEqual([
		"orders · source · sources/orders",
		"orders · pipeline · pipelines/orders",
		"orders-29f · run · runs/orders-29f",
		"shop-orders · source · sources/shop-orders",
		"Run orders now · action · run",
		"Edit orders · source · sources/orders/edit",
		"Edit shop-orders · source · sources/shop-orders/edit",
	]);
});

test("a word may name the kind or the action", () => {
	expect(found("plan str")).toEqual([
		"strict · tracking plan · tracking-plans/strict",
	]);
	expect(found("check")).toEqual(["Check warehouse now · action · check"]);
	expect(found("new token")).toEqual(["New token · action · tokens/new"]);
	expect(found("runs")).toEqual(["Runs · page · runs"]);
});

test("an event's id leads to the search for it", () => {
	const id = "0193a2b0-7c1e-7d4a-9c3b-2f1e0d9c8b7a";
	expect(itemsFor(`"${id.toUpperCase()}"`, view)).toEqual([
		{
			label: `Find the event ${id}`,
			kind: "page",
			to: "search",
			query: { event: id },
		},
	]);
});

test("nobody is offered what their role can't do", () => {
	const can = () => false;
	expect(
		found("orders", { can }).filter((item) => /Run|Edit/.test(item)),
	).toEqual([]);
	expect(found("new", { can })).toEqual([]);
	expect(found("check", { can })).toEqual([]);
	expect(found("0193a2b0-7c1e-7d4a-9c3b-2f1e0d9c8b7a", { can })).toEqual([]);
});
