import { expect, test } from "vitest";
import type { DeliveryReport } from "../../packages/contracts/notification.ts";
import { deliveryFindingOf, type NotificationState } from "./state.ts";

const usable = [
	{ secret: "a", sealed: "x" },
	{ secret: "b", sealed: "y" },
];
const delivery = (
	state: DeliveryReport["state"],
	more: Partial<DeliveryReport> = {},
): DeliveryReport => ({
	version: 1,
	id: "msg_1",
	state,
	attempts: 3,
	time: "2026-03-10T12:00:00Z",
	webhook: "digest",
	...(state !== "Delivered" && {
		error: "The receiver answered with status 500.",
	}),
	...more,
});
const problem = { reason: "SecretNotFound", message: "No Secret." } as const;
const waiting = [
	{ id: "m", type: "RunFailed", time: "2026-03-10T12:00:00Z", message: "No." },
] as const;

function conditionOf(
	state: {
		webhooks?: NotificationState["webhooks"];
		deliveries?: Record<string, DeliveryReport>;
	},
	pending: Parameters<typeof deliveryFindingOf>[1] = [],
) {
	const finding = deliveryFindingOf(
		{
			webhooks: state.webhooks ?? { usable },
			deliveries: new Map(Object.entries(state.deliveries ?? {})),
		},
		pending,
	);
	const { status, reason, message } = finding ?? {};
	return [status, reason, message];
}

test.each([
	[
		"True NothingToTell",
		{},
		'Notifications go to the webhooks in Secrets "a", "b". There was none yet.',
	],
	["False SecretNotFound", { webhooks: { usable, problem } }, "No Secret."],
	["True Delivered", { deliveries: { a: delivery("Delivered") } }, "msg_1"],
	[
		"Unknown Delivering",
		{ deliveries: { a: delivery("Delivering"), b: delivery("Delivered") } },
		'Secret "a" was called 3 times and is called again: The receiver answered with status 500.',
	],
	[
		"False DeliveryFailed",
		{ deliveries: { a: delivery("Delivering"), b: delivery("Failed") } },
		'Secret "b" could not be notified',
	],
])("%s", (expected, state, words) => {
	const [status, reason, message] = conditionOf(state);
	expect(`${status} ${reason}`).toBe(expected);
	expect(message).toContain(words);
});

test("what NATS doesn't take is said", () => {
	const state = { deliveries: { a: delivery("Delivered") } };
	expect(conditionOf(state, waiting)).toEqual([
		"Unknown",
		"Pending",
		expect.stringContaining("1 notification waits"),
	]);
});

test("without webhooks there is no condition", () => {
	expect(conditionOf({ webhooks: { usable: [] } }, waiting)[0]).toBeUndefined();
});
