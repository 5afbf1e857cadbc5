import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	consoleExamples,
	isShown,
} from "../support/examples/console-examples.ts";
import { openLocalMode } from "../support/servers/local-mode.ts";
import { hasPostgres } from "./setup.ts";

const page = readFileSync(
	join(import.meta.dirname, "../../docs/postgres.md"),
	"utf8",
);

test.skipIf(!hasPostgres)(
	"with POSTGRES=1, the session of docs/postgres.md goes from a form to a query of Postgres",
	async () => {
		const local = await openLocalMode();
		const examples = consoleExamples(page);
		expect(examples).toHaveLength(5);
		for (const { command, shown } of examples) {
			const ours = command.replace("source .tidemill/env && ", "");
			const printed = await local.run("bash", "-euc", `${ours} 2>&1`);
			if (!isShown(printed, shown)) expect(printed, command).toBe(shown);
		}
		expect(
			await local.run(
				"bash",
				"-euc",
				"kubectl get destination postgres -o jsonpath='{.spec.postgres}'",
			),
		).not.toContain("host");
	},
);
