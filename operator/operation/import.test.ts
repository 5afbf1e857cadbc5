import { expect, test } from "vitest";
import type { Operation } from "../../crds/generated/types.ts";
import {
	answeredWith,
	operationOf,
	stateOf,
	statusOf,
	types,
} from "../../test/support/examples/operation-examples.ts";
import { decide } from "./decide.ts";
import { operationBefore } from "./state.ts";
import { workOf } from "./work.ts";

const now = Date.parse("2026-03-31T12:00:00Z");
const sha256 = "ab".repeat(32);
const spec = {
	type: "Import" as const,
	import: {
		files: [
			{ name: "a.ndjson", sha256 },
			{ name: "again.ndjson", sha256 },
		],
	},
};
const left = { events: 2, duplicates: 1, invalidRows: 0, parts: 1 };

function importOf(status?: Operation["status"], name = "one"): Operation {
	const operation = operationOf(status, spec);
	delete operation.spec.plan;
	operation.metadata.name = name;
	return operation;
}

function state(operation: Operation) {
	const work = workOf(operation, undefined, () => undefined, "2026-03-01");
	return stateOf({ operation, work });
}

test("archive lists each file once, and all dates that are kept", () => {
	const actions = decide(state(importOf()), now);
	expect(actions.at(-1)).toMatchObject({
		type: "askManifest",
		question: {
			report: true,
			imports: [sha256],
			start: "2026-03-01",
			end: "2026-03-31",
		},
	});
});

test("an Import waits for the one before it, and for no other work", () => {
	const first = importOf(undefined, "first");
	first.metadata.creationTimestamp = "2026-03-31T11:00:00Z";
	const second = importOf(undefined, "second");
	const release = operationOf(undefined, { type: "Release" });
	release.metadata.creationTimestamp = "2026-03-31T10:00:00Z";
	const all = [second, first, release];
	expect(operationBefore(second, all)).toBe(first);
	expect(operationBefore(first, all)).toBeUndefined();
	expect(operationBefore(release, all)).toBeUndefined();
	first.status = { completionTime: "2026-03-31T11:30:00Z" };
	expect(operationBefore(second, all)).toBeUndefined();

	const waiting = decide({ ...state(second), before: first }, now);
	expect(types(waiting)).toEqual(["writeStatus"]);
	expect(statusOf(waiting).conditions).toMatchObject([
		{ reason: "ImportBefore", message: expect.stringContaining("first") },
	]);
});

test("once the Job has left its parts archive is asked to add them, also after the Job is gone", () => {
	const operation = importOf({ attempts: 1, import: left });
	const actions = decide(state(operation), now);
	expect(actions.at(-1)).toEqual({
		type: "askImport",
		shard: 3,
		question: {
			operation: operation.metadata.uid,
			account: "shop",
			sourceKey: expect.any(String),
			parts: 1,
		},
	});
	const dates = [{ date: "2026-03-05", events: 2 }];
	const done = decide(
		answeredWith(state(operation), { ok: true, dates }, now),
		now,
	);
	expect(statusOf(done)).toMatchObject({
		phase: "Succeeded",
		summary: "2 events added, 1 stored already",
		import: { ...left, dates },
	});
});

test("rows whose time is a number are counted, with the date that they got", () => {
	const operation = importOf({ import: { ...left, otherTimes: 2 } });
	operation.spec.import!.date = "2026-03-05";
	const done = decide(
		answeredWith(state(operation), { ok: true, dates: [] }, now),
		now,
	);
	expect(statusOf(done).summary).toBe(
		"2 events added, 1 stored already, 2 rows on 2026-03-05, since a time that is a number isn't read",
	);
});

test("an Import that adds nothing doesn't ask archive", () => {
	const nothing = { ...left, events: 0, parts: 0 };
	const actions = decide(state(importOf({ import: nothing })), now);
	expect(types(actions)).not.toContain("askImport");
	expect(statusOf(actions)).toMatchObject({
		phase: "Succeeded",
		summary: "0 events added, 1 stored already",
	});
});

test.each([
	[true, "Running", "ImportUnavailable"],
	[false, "Failed", "Failed"],
])(
	"archive's refusal, retryable: %s, makes it %s",
	(retryable, phase, reason) => {
		const error = { code: "X", message: "no", retryable };
		const operation = importOf({ import: left });
		const actions = decide(
			answeredWith(state(operation), { ok: false, error }, now),
			now,
		);
		const status = statusOf(actions);
		expect(status.phase).toBe(phase);
		expect(status.conditions?.[0]).toMatchObject({ type: "Complete", reason });
		expect(types(actions).includes("requeueAfter")).toBe(retryable);
	},
);

test("a cancelled Import asks for nothing more", () => {
	const operation = importOf({ import: left });
	operation.spec.cancel = true;
	expect(types(decide(state(operation), now))).not.toContain("askImport");
});

test("the Job is told the time zone, and one that doesn't exist is waited for", () => {
	const withZone = (timeZone: string) => {
		const operation = importOf();
		operation.spec.import = { ...spec.import, timeZone };
		return operation;
	};
	const given = state(withZone("Europe/Berlin"));
	expect(given.work).toMatchObject({ work: { timeZone: "Europe/Berlin" } });
	const actions = decide(state(withZone("Mars/Phobos")), now);
	expect(JSON.stringify(actions)).toContain(
		'spec.import.timeZone is \\"Mars/Phobos\\". It must be an IANA time zone',
	);
	expect(actions).not.toContainEqual(
		expect.objectContaining({ type: "askManifest" }),
	);
});
