import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { checkSpace } from "./home.ts";

test("too little disk space is an error that says how much is left and what to do", async () => {
	await checkSpace(tmpdir(), 1);
	await expect(checkSpace(tmpdir(), Number.MAX_SAFE_INTEGER)).rejects.toThrow(
		/has \d+ MB left.*Free some space, or set TIDEMILL_HOME/,
	);
});
