import { expect, test } from "vitest";
import { earlyComment } from "../../../test/support/examples/table-marks.ts";
import { readComment, writeComment } from "./columns.ts";

const mark = {
	run: "u",
	snapshotMs: 200,
	holds: { sourceKey: "f".repeat(32), through: "2026-03-01" },
};

test.each(["Events of shop", "", "two\nlines", "\ntidemill: once"])(
	"the words %j and the mark are read back",
	(words) => {
		expect(readComment(writeComment(words, mark))).toEqual({ words, mark });
	},
);

test.each(["ours", "", "a\ntidemill: {oops"])(
	"a comment %j that people wrote is no mark",
	(comment) => {
		expect(readComment(comment).mark).toBeUndefined();
	},
);

test("a comment of an early build is read", () => {
	const { sourceKey } = mark.holds;
	expect(readComment(earlyComment(sourceKey, "Events"))).toMatchObject({
		words: "Events",
		mark: { holds: mark.holds },
	});
});
