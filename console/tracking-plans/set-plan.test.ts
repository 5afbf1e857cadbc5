import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BrowserTab } from "../../test/support/doubles/browser-tab.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A tab in the namespace `first`, whose visitor has taken the plan `strict` from the Source `shop`. */
async function afterTaking() {
	const tab = new BrowserTab("tracking-plans/strict?namespace=first");
	const navigation = await import("../router/navigation.ts");
	const { sessionState } = await import("../api/session.ts");
	const toasts = await import("../components/toasts.ts");
	const { setPlan } = await import("./set-plan.ts");
	navigation.setQuery({});
	sessionState.value = {
		kind: "signedIn",
		session: {
			...{ user: "ada", namespace: "first", asked: "first" },
			...{ namespaces: [], expiresAt: null, version: "", rights: {} },
		},
	};
	const changes: unknown[] = [];
	tab.answer((url, init) => {
		const { "Tidemill-Account": namespace } = init!.headers as never;
		const body = JSON.parse(String(init?.body));
		changes.push([namespace, url.pathname, body.webhook.trackingPlanRef]);
		return { body: {} };
	});
	await setPlan("shop", null, "strict");
	return { changes, ...navigation, ...toasts, sessionState };
}

test("Undo changes the Source whose plan was taken, also from another namespace", async () => {
	const { changes, setQuery, toasts, hasUndo } = await afterTaking();
	expect(hasUndo()).toBe(true);
	setQuery({ namespace: "second" });
	toasts.value.at(-1)!.undo!();
	expect(changes).toEqual([
		["first", "/v1/sources/shop", null],
		["first", "/v1/sources/shop", { name: "strict" }],
	]);
});

test("what one visitor can undo is gone once they have signed out", async () => {
	const { toasts, hasUndo, sessionState } = await afterTaking();
	sessionState.value = { kind: "unknown" };
	expect(toasts.value).toEqual([]);
	expect(hasUndo()).toBe(false);
});
