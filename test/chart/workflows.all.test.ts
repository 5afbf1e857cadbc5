// In make test: test/workflows.test.ts
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { resolveBinaries } from "../../local/binaries/resolve.ts";

const root = join(import.meta.dirname, "../..");

test("actionlint has nothing to say about the workflows", async () => {
	const workflows = globSync(".github/workflows/*.yaml", { cwd: root });
	expect(workflows.length).toBeGreaterThan(1);
	const { actionlint } = await resolveBinaries(["actionlint"]);
	const { stdout } = await promisify(execFile)(
		actionlint,
		["-no-color", ...workflows],
		{ cwd: root },
	).catch((error) => error);
	expect(stdout).toBe("");
});
