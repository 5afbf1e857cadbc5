import { expect, test } from "vitest";
import { hasOutlivedReaders } from "./superseded.ts";

const hourMs = 3_600_000;

test.each<[string, number, number, boolean]>([
	["a day and an hour later", 25.1, 25.1, true],
	["while links of the day before may work", 24.9, 24.9, false],
	["when this process's clock alone has jumped", 1000, 3, false],
	["when the store's clock alone has jumped", 3, 1000, false],
	["when a clock has fallen back", -5, 30, false],
])(
	"what was replaced goes a day later, not before: %s",
	(_, own, store, isSo) => {
		const clocks = { nowMs: own * hourMs, storeNowMs: store * hourMs };
		expect(hasOutlivedReaders(0, clocks)).toBe(isSo);
	},
);
