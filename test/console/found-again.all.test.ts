// In make test: test/data-plane/send-again.laptop.test.ts
import Stripe from "stripe";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { trackingPlanKind } from "../../crds/generated/types.ts";
import {
	aWhile,
	type ConsoleSession,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withKeyboard } from "./hands.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLw0f";
const of = (order: number) => JSON.stringify({ type: "paid", order });

describe.skipIf(noBrowser)("An event that somebody looks for", () => {
	let visitor: ConsoleSession;
	let url: string;

	beforeAll(async () => {
		const roles = ["tidemill-editor", "tidemill-admin", "tidemill-log-reader"];
		visitor = await openConsole("console-found-again", roles);
		url = await signedSource(visitor);
	});
	afterAll(() => visitor?.close());

	test("by keyboard alone, a quarantined order is found by its number on a Source with a signature, and is sent again", async () => {
		const { page, open, complaints } = visitor;
		const hands = withKeyboard(page);
		const ids = new Map<number, string>();
		for (const order of [21001, 1001, 10010])
			ids.set(order, await send(url, of(order)));
		await open("sources");
		await hands.follow("payments");
		await hands.fill("Find in all stored events", "/order=1001");
		const events = page.getByRole("region", { name: "Stored events" });
		await events.getByText(/^1 found in the last 24 hours\./).waitFor();
		await hands.press(ids.get(1001)!, events);
		const detail = page.getByRole("region", { name: /^Event / });
		await detail.getByText("Quarantined", { exact: true }).first().waitFor();
		await hands.press("Send again", detail);
		const toast = await page
			.getByText(/^The event .* is accepted\. It has the body and/)
			.textContent();
		const again = /[0-9a-f-]{36}/.exec(toast!)![0];
		expect([...ids.values()]).not.toContain(again);
		await vi.waitFor(async () => {
			await hands.press("Show the newest", events);
			await events.getByText(/^2 found in the last 24 hours\./).waitFor();
		}, aWhile);
		await hands.press(again, events);
		await page
			.getByRole("region", { name: "Headers" })
			.getByText(`tidemill-again-of: ${ids.get(1001)}`)
			.waitFor();
		expect(complaints).toEqual([]);
	});
});

/** Its plan keeps all events apart. */
async function signedSource({ local }: ConsoleSession): Promise<string> {
	const { namespace, client } = local;
	await local.run(
		...(["kubectl", "create", "secret", "generic", "stripe"] as const),
		`--from-literal=secret=${secret}`,
	);
	await local.run("kubectl", "label", "secret/stripe", "tidemill.dev/use=true");
	const spec = {
		eventType: { bodyPointer: "/type" },
		events: [],
		onUnplannedEvent: "Quarantine",
	};
	await client.apply(
		trackingPlanKind,
		{ metadata: { name: "strict", namespace }, spec } as never,
		{ fieldManager: "somebody" },
	);
	await local.run("tidemill", "sources", "create", "payments");
	const webhook = {
		trackingPlanRef: { name: "strict" },
		authorization: {
			type: "Signature",
			signature: {
				scheme: "Stripe",
				secretRefs: [{ name: "stripe", key: "secret" }],
			},
		},
	};
	await local.run(
		...(["kubectl", "patch", "source/payments", "--type=merge", "-p"] as const),
		JSON.stringify({ spec: { webhook } }),
	);
	await local.run(
		...(["kubectl", "wait", "--for=condition=Ready"] as const),
		...["--timeout=120s", "source/payments"],
	);
	const { status } = await local.resource<{ status: { webhookURL: string } }>(
		...(["get", "source", "payments"] as const),
	);
	return status.webhookURL;
}

async function send(url: string, payload: string): Promise<string> {
	const signature = Stripe.webhooks.generateTestHeaderString({
		payload,
		secret,
	});
	// Until receive has the plan, the answer is 503, and until it has the secret 401.
	return vi.waitFor(async () => {
		const answer = await fetch(url, {
			method: "POST",
			headers: { "stripe-signature": signature },
			body: payload,
		});
		expect(answer.status, await answer.clone().text()).toBe(200);
		return ((await answer.json()) as { event_id: string }).event_id;
	}, aWhile);
}
