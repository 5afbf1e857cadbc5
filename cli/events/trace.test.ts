import { expect, test } from "vitest";
import { type Receipt, receiptText } from "./trace.ts";

const receipt: Receipt = {
	eventId: "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11",
	time: "2026-03-01T12:00:00.124Z",
	type: "order.paid",
	kind: "json",
	bytes: 312,
	state: "accepted",
	source: "shop",
	stage: "Bucket",
	object: "tidemill/events/x.parquet",
};

test("a trace shows each step of an event, one a line", () => {
	const run = { run: "orders-1", loadedTime: "2026-03-01T12:05:09.310Z" };
	const load = { pipeline: "orders", table: "orders", partition: "2026-03-01" };
	const waiting = { pipeline: "all", table: "all", state: "Waiting" };
	const some = {
		...{ pipeline: "some", table: "some", state: "Loaded" },
		...run,
		filtered: true as const,
	};
	expect(
		receiptText({
			...receipt,
			loads: [{ ...load, state: "Loaded", ...run }, waiting, some],
		}),
	).toBe(
		`received   2026-03-01T12:00:00.124Z   by source shop: 312 bytes (json), type order.paid
stored                                tidemill/events/x.parquet
loaded     2026-03-01T12:05:09.310Z   pipeline orders → orders where date = '2026-03-01' by run orders-1
waiting                               pipeline all → all: the next run loads it
loaded     2026-03-01T12:05:09.310Z   pipeline some → some by run orders-1, if it matches the pipeline's filter
`,
	);
});

test("a trace of an imported event says when it came, and of which time it is", () => {
	const storedTime = "2026-03-20T08:00:00.000Z";
	expect(receiptText({ ...receipt, state: "imported", storedTime })).toMatch(
		/^imported +2026-03-20T08:00:00.000Z +into source shop: .*, of 2026-03-01T12:00:00.124Z$/m,
	);
});

test("a trace of an event in quarantine says what holds it, and how to release it", () => {
	const text = receiptText({
		...receipt,
		state: "quarantined",
		trackingPlan: "orders",
		violations: [{ kind: "TypeMismatch" }],
	});
	expect(text).toMatch(/^violation +TypeMismatch$/m);
	expect(text).toContain(
		"tidemill quarantine release shop --event-id 019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11",
	);
});
