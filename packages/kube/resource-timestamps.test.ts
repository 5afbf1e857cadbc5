import { expect, test } from "vitest";
import { microTime, rfc3339 } from "./resource.ts";

const instantMs = Date.parse("2026-03-01T10:00:00.129Z");

test("metav1.Time has whole seconds, cut and not rounded", () => {
	expect(rfc3339(instantMs)).toBe("2026-03-01T10:00:00Z");
	expect(rfc3339(instantMs + 870)).toBe("2026-03-01T10:00:00Z");
});

test("metav1.MicroTime has exactly six decimals", () => {
	expect(microTime(instantMs)).toBe("2026-03-01T10:00:00.129000Z");
});
