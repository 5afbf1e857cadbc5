import { expect, test } from "vitest";
import { ownerLabels, ownershipOf } from "./table-owner.ts";

const ours = { runUid: "u", snapshotMs: 200 };

test.each([
	["without labels", undefined, "free"],
	["with another program's labels", { team: "x" }, "free"],
	["of this Run", ownerLabels(ours), "ours"],
	["of an earlier Run", ownerLabels({ runUid: "v", snapshotMs: 100 }), "free"],
	["of the same snapshot", ownerLabels({ ...ours, runUid: "v" }), "free"],
	["of a later Run", ownerLabels({ runUid: "v", snapshotMs: 300 }), "theirs"],
] as const)("a table %s", (_, labels, whose) => {
	expect(ownershipOf(labels ? { labels } : {}, ours)).toBe(whose);
});
