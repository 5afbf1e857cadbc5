import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BrowserTab } from "../../test/support/doubles/browser-tab.ts";

const state = {
	...{ base: undefined, unread: undefined },
	...{ start: { name: "", spec: {} }, draft: { name: "typed", spec: {} } },
};
const ada = { user: "ada", namespace: "default", rights: {} };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A tab whose session ended over a form at `sources/new`, to which the visitor came from `sources`. */
async function endedOverForm() {
	const tab = new BrowserTab("sources");
	const navigation = await import("../router/navigation.ts");
	const session = await import("../api/session.ts");
	const drafts = await import("./kept-draft.ts");
	navigation.setQuery({});
	navigation.startNavigation();
	await navigation.navigate("sources/new");
	// The dialog that asks is of the page that is gone: nobody answers.
	navigation.askBeforeLeaving(() => new Promise(() => {}));
	session.sessionState.value = {
		kind: "signedOut",
		ways: { token: true, oidc: true, code: true },
		hasEnded: true,
	};
	drafts.keepForm("form", state, ada.user);
	return { tab, ...navigation, ...session, ...drafts };
}

test("Back leads back on the sign-in page, and the kept form is still there", async () => {
	const { tab, address, takeForm, hasUnsaved } = await endedOverForm();
	tab.back();
	expect(address.value.path).toBe("sources");
	expect(hasUnsaved()).toBe(true);
	expect(takeForm("form")).toBe(state);
	expect(hasUnsaved()).toBe(false);
});

test("who signs in in another tab finds the kept form in this one, which asks when it is seen again", async () => {
	const opened = await endedOverForm();
	const { tab, reviewSession, sessionState, session, takeForm } = opened;
	for (const nobody of [undefined, { status: 401, body: {} }]) {
		tab.answer(() => nobody);
		await reviewSession();
		const { value: now } = sessionState;
		expect(now).toMatchObject({ kind: "signedOut", hasEnded: true });
	}
	tab.answer(() => ({ body: ada }));
	await reviewSession();
	expect(session.value?.user).toBe("ada");
	expect(takeForm("form")).toBe(state);
});

test("a sign-in page that keeps nothing doesn't ask", async () => {
	const opened = await endedOverForm();
	const { tab, reviewSession, sessionState, takeForm } = opened;
	takeForm("form");
	tab.answer(() => ({ body: ada }));
	await reviewSession();
	expect(sessionState.value.kind).toBe("signedOut");
});
