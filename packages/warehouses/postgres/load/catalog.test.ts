import { expect, test } from "vitest";
import { literal } from "./catalog.ts";

test.each([
	["it's", "'it''s'"],
	["a\\b", " E'a\\\\b'"],
	// It would end the message, and the server would read the rest as another.
	["a\0b", "'a\ufffdb'"],
])("the literal of %j is %s", (text, sql) => {
	expect(literal(text)).toBe(sql);
});
