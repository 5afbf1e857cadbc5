import { expect, test } from "vitest";
import { kinds } from "../packages/kube/kinds.ts";
import {
	notice,
	type OperatorParts,
	reasonNotAlive,
	reasonNotReady,
} from "./health.ts";

const minuteMs = 60_000;

function parts(changes: Partial<OperatorParts> = {}): OperatorParts {
	return {
		hasNats: true,
		natsState: { reason: undefined, isRefused: false },
		noArchive: () => undefined,
		permissions: { missingEverywhere: undefined },
		informers: [{ kind: kinds.pod, hasSynced: true, silentMs: minuteMs }],
		loops: [{ name: "run", longestWorkMs: 2 * minuteMs }],
		election: { isOverdue: false },
		clock: { aheadMs: 200 },
		...changes,
	};
}

test("an operator that watches and works is alive and ready", () => {
	expect(reasonNotAlive(parts())).toBeUndefined();
	expect(reasonNotReady(parts())).toBeUndefined();
});

test("while a restore waits for a person's word, it is ready and says so", () => {
	const restoring = parts({ restore: { isAwaited: true } });
	expect(reasonNotReady(restoring)).toBeUndefined();
	expect(notice(restoring)).toContain("tidemill restore --complete");
	expect(notice(parts({ restore: { isAwaited: false } }))).toBeUndefined();
});

test("while NATS lacks what archive alone makes, and none runs, it says so: one that serves, and one that still claims its NATS", () => {
	const noArchive = () => "no archive runs: start it";
	const found = parts({ noArchive });
	expect(reasonNotReady(found)).toBeUndefined();
	expect(notice(found)).toBe(noArchive());
	const informers = [{ kind: kinds.pod, hasSynced: false, silentMs: 0 }];
	expect(reasonNotReady(parts({ noArchive, informers }))).toBe(noArchive());
});

test.each<[number | undefined, string | undefined]>([
	[undefined, undefined],
	[29_000, undefined],
	[-29_000, undefined],
	[3_600_000, "this node's clock is 3600 s ahead of the apiserver's"],
	[-3_600_000, "this node's clock is 3600 s behind the apiserver's"],
])(
	"with a clock that is %s ms ahead, it is ready and says: %s",
	(aheadMs, words) => {
		const found = parts({ clock: { aheadMs } });
		expect(reasonNotReady(found)).toBeUndefined();
		if (words === undefined) expect(notice(found)).toBeUndefined();
		else expect(notice(found)).toContain(words);
		const both = { ...found, restore: { isAwaited: true } };
		expect(notice(both)).toContain(words ?? "restore --complete");
	},
);

test.each<[string, Partial<OperatorParts>]>([
	[
		"the lease has expired, and this process has not noticed",
		{ election: { isOverdue: true } },
	],
	[
		"a worker of controller run has worked on one object for 11 minutes",
		{ loops: [{ name: "run", longestWorkMs: 11 * minuteMs }] },
	],
])("it needs a restart when %s", (reason, changes) => {
	expect(reasonNotAlive(parts(changes))).toBe(reason);
	expect(reasonNotReady(parts(changes))).toBeUndefined();
});

test.each<[string, Partial<OperatorParts>]>([
	[
		"waiting for the apiserver to list pods",
		{ informers: [{ kind: kinds.pod, hasSynced: false, silentMs: 0 }] },
	],
	[
		"The operator may not",
		{
			permissions: { missingEverywhere: "The operator may not" },
			informers: [{ kind: kinds.pod, hasSynced: false, silentMs: 0 }],
		},
	],
	[
		"the apiserver has sent nothing about pods for more than 3 minutes",
		{ informers: [{ kind: kinds.pod, hasSynced: true, silentMs: 200_000 }] },
	],
])("it is alive, but not ready: %s", (reason, changes) => {
	expect(reasonNotReady(parts(changes))).toBe(reason);
	expect(reasonNotAlive(parts(changes))).toBeUndefined();
});

test("without NATS it is not ready", () => {
	expect(reasonNotReady(parts({ hasNats: false }))).toBe("waiting for NATS");
});
