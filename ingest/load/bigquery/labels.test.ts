import { expect, test } from "vitest";
import { claimLabels, claimOn } from "./labels.ts";

const ours = { runUid: "u", snapshotMs: 200 };

test.each([
	["nobody's", undefined, "free"],
	["somebody's without a snapshot", { team: "x" }, "free"],
	["ours", claimLabels(ours), "ours"],
	["an earlier Run's", claimLabels({ runUid: "v", snapshotMs: 100 }), "free"],
	["a later Run's", claimLabels({ runUid: "v", snapshotMs: 300 }), "theirs"],
] as const)("a table that is %s", (_, labels, whose) => {
	expect(claimOn(labels ? { labels } : {}, ours)).toBe(whose);
});
