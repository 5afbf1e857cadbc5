import { expect, test } from "vitest";
import { objectKeys } from "../../packages/bucket/object-keys.ts";
import { streamName } from "../../packages/contracts/nats.ts";
import {
	earlyName,
	follows,
	outputName,
	readEarlyName,
} from "./object-name.ts";

const stream = streamName(3, "ab12");
const early = { stream, first: 7, last: 9, rows: 4 };
const name = earlyName(early);
const folder = { account: "shop", sourceKey: "5a", date: "2026-03-01" };
const nameOfCut = (first: number, of = stream) =>
	objectKeys("").events(folder, of, first).split("/").at(-1)!;

test("the name of an early object says whose events it has, and no other object's does", () => {
	expect(readEarlyName(name)).toEqual(early);
	for (const other of [nameOfCut(7), outputName([nameOfCut(7)]), "x.parquet"])
		expect(readEarlyName(other)).toBeUndefined();
});

test("only the objects of cuts that begin among its sequences have its events", () => {
	for (const first of [7, 8, 9])
		expect(follows(nameOfCut(first), early)).toBe(true);
	for (const first of [6, 10])
		expect(follows(nameOfCut(first), early)).toBe(false);
	expect(follows(nameOfCut(7, streamName(3, "cd34")), early)).toBe(false);
	expect(follows(earlyName({ ...early, last: 12, rows: 5 }), early)).toBe(true);
	expect(follows(earlyName({ ...early, first: 10, last: 12 }), early)).toBe(
		false,
	);
	expect(follows(outputName([nameOfCut(7)]), early)).toBe(false);
});

test("an output's name derives from its inputs alone", () => {
	expect(outputName(["1", "2"])).toBe(outputName(["1", "2"]));
	const names = [["1"], ["1", "2"], ["2", "1"], ["12"]].map(outputName);
	expect(new Set(names).size).toBe(4);
	expect(names[0]).toMatch(/^compacted-[0-9a-f]{32}\.parquet$/);
});
