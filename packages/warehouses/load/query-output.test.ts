import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { csvLine } from "../../escapes/csv.ts";
import { print } from "./query-output.ts";

async function printedTo(isTTY: boolean): Promise<string> {
	const stdout = Object.assign(new PassThrough(), { isTTY, columns: 80 });
	await print(async function* () {
		yield csvLine(["a\u009b2J", "\u202eb"]);
	}, stdout as never);
	stdout.end();
	return text(stdout);
}

test("a terminal gets a result without what it would carry out, and a program each character", async () => {
	expect(await printedTo(true)).toBe("a\\u009b2J,\\u202eb\n");
	expect(await printedTo(false)).toBe("a\u009b2J,\u202eb\r\n");
});
