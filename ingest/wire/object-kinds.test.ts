import { expect, test } from "vitest";
import { kindOf, objectKinds, ofKind } from "./object-kinds.ts";

test("a mark says which kind it is of, also one as cursors of 0.1 have it", () => {
	for (const kind of objectKinds)
		expect(kindOf(ofKind({ date: "2026-03-01" }, kind))).toBe(kind);
	expect(kindOf({ quarantined: false })).toBe("objects");
	expect(kindOf({ quarantined: true })).toBe("quarantined");
});
