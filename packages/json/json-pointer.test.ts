import { expect, test } from "vitest";
import { pointerParts } from "./json-pointer.ts";

test.each([
	["", []],
	["/", [""]],
	["/a/0/b c", ["a", "0", "b c"]],
	["//a~1b/~0", ["", "a/b", "~"]],
	["/~01/~10/~00", ["~1", "/0", "~0"]],
])("%j goes through %j", (pointer, parts) => {
	expect(pointerParts(pointer)).toEqual(parts);
});
