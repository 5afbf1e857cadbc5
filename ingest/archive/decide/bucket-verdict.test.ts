import { expect, test } from "vitest";
import {
	acceptedMark,
	type BucketMark,
	judgeBucket,
	refusalOf,
} from "./bucket-verdict.ts";

const at = (number: number, id = "one"): BucketMark => ({ id, number });

test.each<[string, BucketMark | undefined, BucketMark | undefined, string]>([
	["the first start", undefined, undefined, "New"],
	["a restored cluster", undefined, at(7), "Taken"],
	["the bucket as it was left", at(7), at(7), "Same"],
	["another archive has raised the number", at(7), at(8), "Same"],
	["NATS restored from a backup", at(3), at(8), "Same"],
	["a copy of before", at(7), at(6), "OlderCopy"],
	["another bucket", at(7), at(9, "two"), "OtherBucket"],
	["an empty bucket, or another prefix", at(7), undefined, "OtherBucket"],
])("%s", (_, known, found, verdict) => {
	expect(judgeBucket(known, found)).toBe(verdict);
	const isRefused = verdict === "OlderCopy" || verdict === "OtherBucket";
	expect(refusalOf(known, found, "it") !== undefined).toBe(isRefused);
});

test("a version that doesn't know marks changes neither side, so the bucket is the same when a later one comes back", () => {
	expect(judgeBucket(at(7), at(7))).toBe("Same");
});

test("a bucket that is accepted counts from then on, and what was left behind doesn't", () => {
	const known = at(9);
	const copy = acceptedMark(known, at(6), "new");
	expect(copy).toEqual(at(10));
	expect(judgeBucket(copy, known)).toBe("OlderCopy");
	expect(judgeBucket(copy, at(6))).toBe("OlderCopy");
	const empty = acceptedMark(known, undefined, "new");
	expect(empty).toEqual(at(10, "new"));
	expect(judgeBucket(empty, known)).toBe("OtherBucket");
	expect(acceptedMark(known, at(20, "two"), "new")).toEqual(at(21, "two"));
});
