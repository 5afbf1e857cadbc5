import { expect, test } from "vitest";
import { apiserver, refusal } from "../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../test/support/cli/in-process.ts";
import { ownVersion } from "./command/own-version.ts";

test("a refused token costs nobody the command's own version", async () => {
	const { args } = await apiserver(() =>
		refusal(401, "Unauthorized", "Unauthorized"),
	);
	const { exitCode, stdout, stderr } = await tidemill("version", ...args);
	expect(stdout).toBe(
		`tidemill ${ownVersion()}\nnode ${process.version}\nkubernetes unknown\n`,
	);
	expect(stderr).toMatch(/^The cluster refuses: .*Unauthorized/m);
	expect(exitCode).toBe(0);
});
