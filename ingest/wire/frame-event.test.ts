import { stringify, validate, version } from "uuid";
import { expect, test } from "vitest";
import { eventIdText, newEventId } from "./frame-event.ts";

test("an event id is a UUIDv7 of its instant, and no two are equal", () => {
	const nowMs = Date.UTC(2026, 10, 21);
	// More ids than one block of random bytes serves.
	const texts = Array.from({ length: 2_000 }, () => {
		const id = newEventId(nowMs);
		const text = eventIdText(id);
		expect(text).toBe(stringify(id));
		return text;
	});
	expect(new Set(texts).size).toBe(texts.length);
	for (const text of texts) {
		expect(validate(text) && version(text)).toBe(7);
		expect(Number.parseInt(text.slice(0, 8) + text.slice(9, 13), 16)).toBe(
			nowMs,
		);
	}
});
