// In make test: test/documented-pieces.test.ts
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
// yaml: reads YAML 1.2, of which JSON is a part.
import { parse } from "yaml";
import { documented } from "./support/examples/documented.ts";
import { exceptions } from "./support/examples/documented-exceptions.ts";

/*
 * What no test runs is at least read: SQL by its warehouse (test/data-plane/documented-sql.all.test.ts), and the rest here.
 * test/documented-options.test.ts knows the commands and options of tidemill in it.
 */

const pieces = exceptions
	.flatMap(({ at }) => documented(at))
	.filter(({ language }) => language !== "sql");

test.each(pieces)("$page, $heading, can be read", ({ language, text }) => {
	if (language === "yaml" || language === "json") {
		expect(parse(text)).toBeTypeOf("object");
		return;
	}
	const { status, stderr } = spawnSync("bash", ["-n"], {
		encoding: "utf8",
		input: text.replaceAll(/<[a-z]+>/g, "filled"),
	});
	expect([status, stderr]).toEqual([0, ""]);
});
