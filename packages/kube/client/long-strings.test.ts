import { expect, test } from "vitest";
import { withoutLongStrings } from "./long-strings.ts";

const long = "x".repeat(300);
const whole = {
	metadata: { annotations: { note: `${long}\\`, short: 'a "quoted" \\ one' } },
	data: {
		token: `${long}"\u2028é`,
		other: long,
		[`${long}y`]: 1,
		list: [long],
	},
	count: 1.5,
};
const emptied = {
	metadata: { annotations: { note: "", short: 'a "quoted" \\ one' } },
	data: { token: `${long}"\u2028é`, other: "", "": 1, list: [""] },
	count: 1.5,
};

test.each([1, 2, 7, 64, 255, 256, 257, 100_000])(
	"long strings are emptied, but for those that are wanted, in chunks of %d characters",
	(size) => {
		for (const text of [
			JSON.stringify(whole),
			JSON.stringify(whole, null, 2),
		]) {
			const shorten = withoutLongStrings(new Set(["token"]));
			let out = "";
			for (let at = 0; at < text.length; at += size)
				out += shorten(text.slice(at, at + size));
			expect(JSON.parse(out)).toEqual(emptied);
		}
	},
);

test("a value is no name, so what follows it isn't kept", () => {
	const shorten = withoutLongStrings(new Set(["token"]));
	const text = JSON.stringify({ list: ["token", long], a: "token", b: long });
	expect(JSON.parse(shorten(text))).toEqual({
		list: ["token", ""],
		a: "token",
		b: "",
	});
});
