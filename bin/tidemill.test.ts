import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const program = join(import.meta.dirname, "tidemill.ts");

function tidemill(...args: string[]) {
	const options = { encoding: "utf8" } as const;
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[program, ...args],
		options,
	);
	return { status, stdout, stderr };
}

test("help lists the commands, and the short names of the resources", () => {
	const { status, stdout } = tidemill("help");
	expect(status).toBe(0);
	expect(stdout).toContain("tidemill sources list");
	for (const [plural, shortName] of [
		["sources", "wsrc"],
		["destinations", "wdst"],
		["pipelines", "wpl"],
		["runs", "wrun"],
		["trackingplans", "tplan"],
	])
		expect(stdout).toMatch(new RegExp(`^  ${plural} +${shortName}$`, "m"));
});

test.each(["unknown", "toString", "Processes"])(
	'the command "%s" is refused, with a pointer to help',
	(name) => {
		expect(tidemill(name)).toEqual({
			status: 2,
			stdout: "",
			stderr: `tidemill: unknown command "${name}". See: tidemill help\n`,
		});
	},
);
