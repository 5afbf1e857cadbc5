import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { expect, test } from "vitest";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { inProcess as tidemill } from "../../test/support/cli/in-process.ts";
import { ownVersion } from "../command/own-version.ts";
import { createProgram, loadGroup } from "./program.ts";

test.each(["unknown", "toString", "Processes"])(
	'the command "%s" is refused, with a pointer to help',
	async (name) => {
		expect(await tidemill(name)).toEqual({
			exitCode: 2,
			stdout: "",
			stderr: `tidemill: unknown command '${name}'\nSee: tidemill --help\n`,
		});
	},
);

test.each([
	[["replay"], "There is: tidemill events replay. See: tidemill events replay"],
	[["refusals", "shop"], "There is: tidemill sources refusals."],
	[["runs", "erase"], "There is: tidemill events erase."],
	[["get", "events"], "There is: tidemill events get."],
	[
		["get", "tracking-plan/a", "-n=b"],
		"kubectl does that: kubectl get trackingplan/a -n=b",
	],
	[
		["sources", "describe", "a"],
		"kubectl does that: kubectl describe sources a",
	],
	[
		["wpl", "wait", "a"],
		"kubectl does that: kubectl wait wpl a --for=condition=Ready",
	],
])("a command that another group has is named: %j", async (args, words) => {
	const { exitCode, stderr } = await tidemill(...args);
	expect(exitCode).toBe(2);
	expect(stderr).toMatch(/: unknown command '\w+'\n/);
	expect(stderr).toContain(`\n${words}`);
});

test.each([
	[["soures", "list"], "(Did you mean sources?)"],
	[["sources", "lst"], "tidemill sources: unknown command 'lst'\n(Did you"],
	[["sources", "list", "--outptu", "json"], "(Did you mean --output?)"],
	[["sources", "list", "-o", "yml"], "choices are table, wide, json, yaml"],
	[["sources", "list", "x"], "Expected 0 arguments but got 1: x"],
	[["trace", ""], "tidemill trace: <event-id> is empty."],
	[["runs", "logs", " "], "is empty."],
	[["sources", "create"], "pass a name, or --file"],
	[["sources", "create", "a", "-f", "b"], "use it alone"],
	[
		["destinations", "create", "a"],
		"pass --bigquery, --clickhouse, --duckdb, --postgres",
	],
	[
		["destinations", "create", "a", "--bigquery", "acme"],
		'--bigquery is "acme", but must be a project and a dataset',
	],
	[
		["destinations", "create", "a", "--duckdb", "p", "--secret-ref", "b"],
		"--duckdb has no Secret",
	],
	[
		["destinations", "create", "a", "--postgres", "postgres://a:b@c/d"],
		"--postgres postgres://a@c/d --secret-stdin < password",
	],
	[["destinations", "create", "a", "--set", "type"], "a field and its value"],
	[
		["destinations", "create", "a", "--postgres=db/a", "--secret-file=b"],
		"need the user in the address",
	],
	[["pipelines", "create", "a", "--source", "b"], "--source and --destination"],
	[
		["pipelines", "create", "a", "--daily", "06:00", "--cron", "x"],
		"'--daily <time>' cannot be used with option '--cron <expression>'",
	],
	[
		["pipelines", "create", "a", "--source=b", "--destination=c", "--every=15"],
		'--every is "15", but must be a time between 1m and 24h',
	],
	[
		["pipelines", "create", "a", "--source=b", "--destination=c", "--every=0m"],
		"between 1m and 24h",
	],
	[
		[
			...["pipelines", "create", "a", "--source=b", "--destination=c"],
			"--daily=25:00",
		],
		'--daily is "25:00", but must be a time of day such as 06:30',
	],
	[
		[
			...["pipelines", "create", "a", "--source=b", "--destination=c"],
			"--cron=61 * * * *",
		],
		'--cron is "61 * * * *": 61 is not between 0 and 59. It must have five',
	],
	[
		[
			...["pipelines", "create", "a", "--source=b", "--destination=c"],
			...["--daily=6:30", "--time-zone=Berlin"],
		],
		'--time-zone is "Berlin". It must be an IANA time zone',
	],
	[["logs", "a", "--tail", "10001"], "must be between 1 and 10000"],
	[["pipelines", "run"], "missing required argument 'pipeline'"],
	[["pipelines", "run", "a", "--from", "x"], "must be used together"],
	[
		["pipelines", "run", "a", "--from", "x", "--to", "y", "--full"],
		"'--full' cannot be used with option '--from <date>'",
	],
	[["runs", "logs", "a", "--tail", "0"], '--tail is "0", but must be between'],
	[["events", "send", "a"], "either --data or --file"],
	[["sources", "send", "a"], "either --data or --file"],
	[
		["tokens", "create", "a", "--scope", "admin"],
		"choices are read, run, edit",
	],
	[["tokens", "create", "a"], "'-s, --scope <scope>' not specified"],
	[
		["tokens", "create", "a", "--scope", "read", "--duration", "366d"],
		"at most 365d",
	],
	[
		["events", "erase", "a", "--event-id", "e1", "--confirm", "b"],
		'--confirm is "b", but must be the name of the source, "a"',
	],
	[
		["events", "erase", "a", "--equals", "b", "--confirm", "a"],
		"Set either --event-id, or --body-pointer and one of --equals and --equals-number",
	],
	[["quarantine", "release", "a", "--days", "x"], '--days is "x", but must be'],
	[
		["quarantine", "release", "a", "--days=1", "--to=x"],
		"'--days <n>' cannot be used with option '--to <date>'",
	],
	[["tracking-plans", "create"], "pass a name, or --file"],
	[
		["operations", "create", "a", "--set=type=Eras"],
		'type="Eras", but must be one of DryRun',
	],
	[["tracking-plans", "dry-run", "a"], "either --plan or --file"],
	[["tracking-plans", "draft", "a"], "use exactly one of --body-pointer"],
	[["sql", "select", "1"], "Expected 1 argument but got 2"],
	[["sql", "-f", "a", "-d", "b", "q"], "'-f, --file <path>' cannot be used"],
	[["operator", "x"], "Expected 0 arguments but got 1: x"],
	[["load", "--inptu", "x"], "(Did you mean --input?)"],
])(
	"%j is refused, and the message says what would be right",
	async (args, message) => {
		// A command that gets further finds no cluster.
		const { exitCode, stderr } = await tidemill(
			...args,
			...(args[0] === "operator" || args[0] === "load"
				? []
				: ["--kubeconfig=/none"]),
		);
		expect(stderr).toContain(message);
		expect(stderr).toMatch(/^See: tidemill .*--help$/m);
		expect(exitCode).toBe(2);
	},
);

test.each([
	[[], 2, "tidemill [options]"],
	[["sources"], 2, "tidemill sources"],
	[["help"], 0, "tidemill [options]"],
	[["help", "sources", "list"], 0, "tidemill sources list"],
	[["sources", "ls", "-h"], 0, "tidemill sources list"],
	[["receive", "--help"], 0, "tidemill receive"],
])("%j shows how to use the command", async (args, code, usage) => {
	const { exitCode, stdout, stderr } = await tidemill(...args);
	expect(code === 0 ? stdout : stderr).toContain(`Usage: ${usage}`);
	expect(exitCode).toBe(code);
});

test("what people type by habit works everywhere: ls for list, and --json wherever --output json does", async () => {
	const program = createProgram() as CommandUnknownOpts;
	const commands: CommandUnknownOpts[] = [];
	for (const group of program.commands) {
		await loadGroup(group as never);
		commands.push(group, ...group.commands);
	}
	const listing = commands.filter((one) => one.name() === "list");
	expect(listing.length).toBeGreaterThan(8);
	for (const list of listing) expect(list.aliases()).toContain("ls");
	const longs = (one: CommandUnknownOpts) =>
		one.options.map(({ long }) => long);
	const printing = commands.filter(({ options }) =>
		options.some(
			({ long, argChoices }) =>
				long === "--output" && argChoices?.includes("json"),
		),
	);
	expect(printing.length).toBeGreaterThan(20);
	for (const one of printing) expect(longs(one)).toContain("--json");
});

test.each([["--version"], ["-v"]])("%s prints the version", async (flag) => {
	expect(await tidemill(flag)).toEqual({
		exitCode: 0,
		stdout: `${ownVersion()}\n`,
		stderr: "",
	});
});

test("each resource has commands, by all the names that kubectl knows", () => {
	const commands = createProgram().commands;
	for (const { plural, shortNames } of readResourceSchemas())
		for (const name of [plural, ...shortNames]) {
			const found = commands.filter(
				(command) =>
					command.name() === name || command.aliases().includes(name),
			);
			const named = found.map((command) => command.name().replace("-", ""));
			expect([name, named]).toEqual([name, [plural]]);
		}
});
