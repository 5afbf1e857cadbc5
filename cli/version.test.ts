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

test("JSON of what the cluster says can't write to the terminal", async () => {
	const { args } = await apiserver(() => [200, { gitVersion: "v1\u009b2J" }]);
	const { stdout } = await tidemill("version", "-o", "json", ...args);
	expect(stdout).not.toContain("\u009b");
	expect(JSON.parse(stdout)).toMatchObject({ kubernetes: "v1\u009b2J" });
});
