import { expect, test } from "vitest";
import type { Notification } from "../../packages/contracts/notification.ts";
import { pipelineOf } from "../../test/support/examples/resource-examples.ts";
import { dueNotifications, soonerIf } from "./state.ts";
import type { Webhooks } from "./webhooks.ts";

const now = Date.parse("2026-03-10T12:00:00Z");
const news = (id: string, time = "2026-03-10T12:00:00Z"): Notification => ({
	id,
	type: "RunFailed",
	time,
	message: "It failed.",
});
const usable: Webhooks = { usable: [{ secret: "alerts", sealed: "sealed" }] };
const broken: Webhooks = {
	usable: [],
	problem: { reason: "SecretNotFound", message: "No." },
};

function after(
	pending: Notification[],
	webhooks: Webhooks,
	more: Notification[] = [],
) {
	const pipeline = pipelineOf(
		{},
		{ status: { pendingNotifications: pending } },
	);
	return dueNotifications(pipeline, more, webhooks, now);
}

test("what an earlier attempt left is due again, before the news", () => {
	const [a, b] = [news("a"), news("b")];
	expect(after([a], usable, [b])).toEqual({ due: [a, b], kept: [] });
});

test("notifications wait while no webhook is usable, and are dropped where nobody wants any", () => {
	const [a, b] = [news("a"), news("b")];
	expect(after([a], broken, [b])).toEqual({ due: [], kept: [a, b] });
	expect(after([a], { usable: [] }, [b])).toEqual({ due: [], kept: [] });
});

test("one webhook that isn't usable holds up no other", () => {
	const [a] = [news("a")];
	expect(after([a], { ...broken, ...usable }).due).toEqual([a]);
});

test("no more than the latest ten wait, for two days", () => {
	const many = Array.from({ length: 12 }, (_, i) => news(String(i)));
	expect(after(many, broken).kept).toEqual(many.slice(2));
	expect(after([news("old", "2026-03-08T11:59:59Z")], broken).kept).toEqual([]);
});

test("what could not be handed over is tried again soon", () => {
	expect(soonerIf([news("a")], undefined)).toEqual({ requeueAfterMs: 15_000 });
	const later = { requeueAfterMs: 60_000 };
	expect(soonerIf([news("a")], later)).toEqual({ requeueAfterMs: 15_000 });
	expect(soonerIf([], later)).toEqual(later);
});
