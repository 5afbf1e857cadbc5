import { expect, test } from "vitest";
import type { Notification } from "../../packages/contracts/notification.ts";
import { pipelineOf } from "../../test/support/examples/resource-examples.ts";
import type { HandOver } from "./outbox.ts";
import { dueNotifications } from "./state.ts";
import type { NotificationWebhooks } from "./webhooks.ts";

const now = Date.parse("2026-03-10T12:00:00Z");
const changed = (id: string, time = "2026-03-10T12:00:00Z"): Notification => ({
	id,
	type: "RunFailed",
	time,
	message: "It failed.",
});
const usable: NotificationWebhooks = {
	usable: [{ secret: "alerts", sealed: "sealed" }],
};
const broken: NotificationWebhooks = {
	usable: [],
	problem: { reason: "SecretNotFound", message: "No." },
};

function after(
	pending: Notification[],
	webhooks: NotificationWebhooks,
	more: Notification[] = [],
	handedOver?: HandOver,
) {
	const pipeline = pipelineOf(
		{},
		{ status: { pendingNotifications: pending } },
	);
	const state = { webhooks, deliveries: new Map(), handedOver };
	return dueNotifications(pipeline, more, state, now);
}

test("what an earlier attempt left is due again, before what is new", () => {
	const [a, b] = [changed("a"), changed("b")];
	expect(after([a], usable, [b])).toMatchObject({ due: [a, b], kept: [] });
});

test("notifications wait while no webhook is usable, and are dropped where nobody wants any", () => {
	const [a, b] = [changed("a"), changed("b")];
	expect(after([a], broken, [b])).toMatchObject({ due: [], kept: [a, b] });
	expect(after([a], { usable: [] }, [b])).toMatchObject({ due: [], kept: [] });
});

test("one webhook that isn't usable holds up no other", () => {
	const [a] = [changed("a")];
	expect(after([a], { ...broken, ...usable }).due).toEqual([a]);
});

test("no more than the latest ten wait, for two days", () => {
	const many = Array.from({ length: 12 }, (_, i) => changed(String(i)));
	expect(after(many, broken).kept).toEqual(many.slice(2));
	expect(after([changed("old", "2026-03-08T11:59:59Z")], broken).kept).toEqual(
		[],
	);
});

test("what was handed over is due no more, and what NATS didn't take is kept and tried again soon", () => {
	const [a, b] = [changed("a"), changed("b")];
	const all = { due: [], kept: [], retryMs: undefined };
	expect(after([a], usable, [b], { ids: ["a", "b"], left: [] })).toEqual(all);
	expect(after([a], usable, [b], { ids: ["a", "b"], left: [b] })).toEqual({
		due: [],
		kept: [b],
		retryMs: 15_000,
	});
	// One that came since then.
	const earlier = { ids: ["a"], left: [a] };
	expect(after([a], usable, [b], earlier).due).toEqual([a, b]);
});
