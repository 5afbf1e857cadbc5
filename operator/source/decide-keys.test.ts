import { expect, test } from "vitest";
import type { Source } from "../../crds/generated/types.ts";
import {
	keys,
	now,
	readyIn,
	routeOfSource,
	sourceWith,
	stateWith,
	statusIn,
	url,
} from "../../test/support/fixtures/control-plane/source-state.ts";
import { decide } from "./decide.ts";
import { tombstone } from "./routes/key-owners.ts";
import { newKeys } from "./routes/keys.ts";
import type { SourceState } from "./state.ts";

test("a Source without keys gets new ones", () => {
	expect(decide(stateWith({ keys: "absent" }), now)).toEqual([
		{ type: "issueKeys", rotation: undefined, stored: undefined },
	]);
});

const stored = { sourceKey: keys.sourceKey, shard: 3, shards: [3] };

test("a Source that lost its keys gets a new url key, and keeps the source key that its events are stored under", () => {
	const source = { ...sourceWith(), status: { ...stored, webhookURL: url } };
	expect(decide(stateWith({ source, keys: "absent" }), now)).toEqual([
		{
			type: "issueKeys",
			rotation: undefined,
			stored,
		},
	]);
	expect(newKeys(stored.shard, stored)).toEqual({
		...stored,
		urlKey: expect.stringMatching(/^[0-9a-f]{32}$/),
	});
});

const elsewhere: Partial<SourceState> = {
	keyOwner: "other",
	published: undefined,
};

test.each<[string, Partial<SourceState>, boolean]>([
	["damaged keys", { keys: "invalid" }, true],
	[
		"somebody else's keys",
		{ ...elsewhere, keys: { ...keys, sourceKey: "c".repeat(32) } },
		true,
	],
	["a source key that is refused", elsewhere, false],
])(
	"whether the status of a Source with %s still says what its events are stored under",
	(_, part, kept) => {
		const source = { ...sourceWith(), status: { ...stored, webhookURL: url } };
		const status = statusIn(decide(stateWith({ ...part, source }), now));
		expect(status?.webhookURL).toBeUndefined();
		expect(status?.sourceKey).toBe(kept ? stored.sourceKey : undefined);
	},
);

const usual = { version: 1, days: 30, enforcedBy: "Sweep" } as const;
const longer = {
	days: 400,
	enforcedBy: "Sweep",
	from: "2025-02-01",
	next: { days: 60, date: "2026-03-09" },
} as const;

test.each<[string, Partial<SourceState>, object]>([
	["damaged keys", { keys: "invalid" }, longer],
	[
		"somebody else's keys",
		{
			...elsewhere,
			keys: { ...keys, sourceKey: "c".repeat(32) },
			// That of the somebody else.
			kept: {
				version: 1,
				account: "other",
				sourceKey: "c".repeat(32),
				days: 90,
				from: "2026-01-01",
			},
		},
		longer,
	],
	["keys of which archive's word hasn't come yet", {}, longer],
	[
		"the keys of other events",
		{ keys: { ...keys, sourceKey: "c".repeat(32) }, publishError: "none" },
		{ days: 30, enforcedBy: "Sweep" },
	],
])(
	"the retention in the status of a Source with %s, which its Runs count on",
	(_, part, expected) => {
		const status = { ...stored, retention: longer };
		const source = { ...sourceWith({ retentionDays: 400 }), status };
		const state = stateWith({ ...part, source, retention: usual });
		expect(statusIn(decide(state, now))?.retention).toEqual(expected);
	},
);

function annotated(rotation: string): Source {
	const source = sourceWith();
	source.metadata.annotations = { "tidemill.dev/rotate-url": rotation };
	return source;
}

test.each<[string, Partial<SourceState>, boolean]>([
	["a first value", { source: annotated("today") }, true],
	[
		"another value",
		{ source: annotated("today"), keys: { ...keys, rotation: "before" } },
		true,
	],
	[
		"the value it was rotated for",
		{ source: annotated("today"), keys: { ...keys, rotation: "today" } },
		false,
	],
	["no value any longer", { keys: { ...keys, rotation: "before" } }, false],
	[
		"a value, but damaged keys,",
		{ source: annotated("x"), keys: "invalid" },
		false,
	],
])(
	"whether a Source rotates its URL if rotate-url has %s",
	(_, part, rotated) => {
		const types = decide(stateWith(part), now).map(({ type }) => type);
		expect(types.includes("rotateURL")).toBe(rotated);
	},
);

test("a source key that no account has claimed is the Source's own", () => {
	const actions = decide(stateWith({ keyOwner: undefined }), now);
	expect(readyIn(actions)?.reason).toBe("Active");
});

test.each<[string, Partial<SourceState>]>([
	["another namespace", { keyOwner: "other", published: undefined }],
	['Source "older"', { published: routeOfSource("older") }],
])("a key that is taken is said to belong to %s", (owner, part) => {
	expect(readyIn(decide(stateWith(part), now))).toMatchObject({
		reason: "KeyTaken",
		message: expect.stringContaining(`belongs to ${owner}.`),
	});
});

test("keys that are older than the Source are reported", () => {
	expect(decide(stateWith({ keysAdopted: true }), now)).toContainEqual(
		expect.objectContaining({ type: "recordKubeEvent", reason: "URLAdopted" }),
	);
});

test("a key whose events were deleted is never served again", () => {
	const actions = decide(stateWith({ keyOwner: tombstone }), now);
	expect(readyIn(actions)).toMatchObject({
		status: "False",
		reason: "KeyDeleted",
	});
	expect(statusIn(actions)?.webhookURL).toBeUndefined();
});

test("adopted keys are reported only with the first status", () => {
	const status = statusIn(decide(stateWith({ keysAdopted: true }), now))!;
	const source = { ...sourceWith({ suspend: true }), status };
	expect(
		decide(stateWith({ source, keysAdopted: true }), now),
	).not.toContainEqual(expect.objectContaining({ reason: "URLAdopted" }));
});
