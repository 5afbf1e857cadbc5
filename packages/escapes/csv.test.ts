import { expect, test } from "vitest";
import { csvLine } from "./csv.ts";

test("fields with separators, quotes or line ends are quoted; NULL and an empty string differ", () => {
	expect(csvLine(["a", 'say "hi", then\nbye', null, ""])).toBe(
		'a,"say ""hi"", then\nbye",,""\r\n',
	);
});
