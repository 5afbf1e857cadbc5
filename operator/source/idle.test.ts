import { expect, test } from "vitest";
import type { Source } from "../../crds/generated/types.ts";
import type { SourceLedger } from "../../packages/contracts/ledger.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import {
	now,
	sourceWith,
	stateWith,
	statusIn,
} from "../../test/support/fixtures/control-plane/source-state.ts";
import type { NotificationState } from "../notification/state.ts";
import { decide } from "./decide.ts";

const notifications: NotificationState = {
	webhooks: { usable: [{ secret: "alerts", sealed: "sealed" }] },
	deliveries: new Map(),
};
const hourMs = 3_600_000;
const quietAfter = { notify: { quietAfter: "2h" } };

function ledgerOf(lastEventMs: number): SourceLedger {
	const lastEventTime = new Date(lastEventMs).toISOString();
	return {
		sourceKey: "a".repeat(32),
		firstEventDate: "2026-03-01",
		lastEventTime,
		archivedThrough: lastEventTime,
		archived: { "2026-03-01": 1 },
	} as unknown as SourceLedger;
}

function look(source: Source, atMs: number, lastEventMs?: number) {
	const ledger = lastEventMs === undefined ? undefined : ledgerOf(lastEventMs);
	const actions = decide(stateWith({ source, ledger, notifications }), atMs);
	const status = statusIn(actions) ?? source.status;
	const told = actions.flatMap((action) =>
		action.type === "notify" ? action.due : [],
	);
	const wait = actions.find(({ type }) => type === "requeueAfter");
	return {
		after: { ...source, ...(status && { status }) },
		told,
		receiving: findCondition(status?.conditions, "Receiving")?.status,
		waitMs: wait?.type === "requeueAfter" ? wait.afterMs : undefined,
	};
}

test("a Source that goes quiet is one notification, and one more when events arrive again", () => {
	const first = look(sourceWith(quietAfter), now, now);
	expect(first).toMatchObject({ told: [], receiving: "True", waitMs: 300_000 });
	expect(
		findCondition(first.after.status?.conditions, "NotificationsDelivered"),
	).toMatchObject({ status: "True", reason: "NothingToTell" });
	const heardOn = look(first.after, now + hourMs, now + hourMs);
	expect(heardOn).toMatchObject({ told: [], receiving: "True" });
	const nearly = look(first.after, now + 2 * hourMs - 1_000, now);
	expect(nearly).toMatchObject({ told: [], receiving: "True", waitMs: 1_000 });
	const quiet = look(first.after, now + 2 * hourMs, now);
	expect(quiet).toMatchObject({
		receiving: "False",
		told: [
			{
				type: "SourceQuiet",
				message: `Source "orders" has received no event for 2h. The latest was at ${new Date(now).toISOString()}.`,
			},
		],
	});
	expect(look(quiet.after, now + 5 * hourMs, now)).toMatchObject({
		told: [],
		receiving: "False",
	});
	const heard = look(quiet.after, now + 6 * hourMs, now + 6 * hourMs);
	expect(heard).toMatchObject({
		receiving: "True",
		told: [{ type: "SourceRecovered" }],
	});
	expect(heard.told[0]!.id).not.toBe(quiet.told[0]!.id);
	expect(look(heard.after, now + 6 * hourMs, now + 6 * hourMs).told).toEqual(
		[],
	);
	const again = look(heard.after, now + 8 * hourMs, now + 6 * hourMs);
	expect(again.told).toMatchObject([{ type: "SourceQuiet" }]);
	expect(again.told[0]!.id).not.toBe(quiet.told[0]!.id);
});

test("a Source without any event is quiet after its time, too", () => {
	const first = look(sourceWith(quietAfter), now);
	expect(look(first.after, now + 2 * hourMs).told).toMatchObject([
		{
			type: "SourceQuiet",
			message: 'Source "orders" has received no event for 2h.',
		},
	]);
});

test("who begins to watch a Source that is long quiet hears of it after the time, not at once", () => {
	const first = look(sourceWith(quietAfter), now, now - 100 * hourMs);
	expect(first).toMatchObject({ told: [], receiving: "True" });
	const quiet = look(first.after, now + 2 * hourMs, now - 100 * hourMs);
	expect(quiet.told).toHaveLength(1);
});

test.each([
	["suspended", { ...quietAfter, suspend: true }],
	["not watched", {}],
])("a Source that is %s isn't quiet", (_, spec) => {
	const source = sourceWith(quietAfter);
	const quiet = look(look(source, now, now).after, now + 3 * hourMs, now);
	expect(quiet.receiving).toBe("False");
	const off = { ...quiet.after, spec: { ...sourceWith(spec).spec } };
	expect(look(off, now + 4 * hourMs, now)).toMatchObject({
		told: [],
		receiving: undefined,
	});
});
