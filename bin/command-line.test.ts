import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readResourceSchemas } from "../crds/resource-schema.ts";
import { runCommandLine } from "./command-line.ts";
import { createProgram } from "./program.ts";

let stdout: string;
let stderr: string;

beforeEach(() => {
	[stdout, stderr] = ["", ""];
	vi.spyOn(process.stdout, "write").mockImplementation((text) => {
		stdout += text;
		return true;
	});
	vi.spyOn(process.stderr, "write").mockImplementation((text) => {
		stderr += text;
		return true;
	});
});

afterEach(() => {
	vi.restoreAllMocks();
	process.exitCode = undefined;
});

async function tidemill(...args: string[]) {
	await runCommandLine(args);
	return { stdout, stderr, exitCode: process.exitCode };
}

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
	[["soures", "list"], "(Did you mean sources?)"],
	[["sources", "lst"], "tidemill sources: unknown command 'lst'\n(Did you"],
	[["sources", "list", "--outptu", "json"], "(Did you mean --output?)"],
	[["sources", "list", "-o", "yml"], "Allowed choices are table, json"],
	[["sources", "list", "x"], "Expected 0 arguments but got 1: x"],
	[["pipelines", "run"], "missing required argument 'pipeline'"],
	[["pipelines", "run", "a", "--from", "x"], "must be used together"],
	[
		["pipelines", "run", "a", "--from", "x", "--to", "y", "--full"],
		"'--full' cannot be used with option '--from <date>'",
	],
	[["events", "send", "a"], "either --data or --file"],
	[["tokens", "create", "a", "--role", "admin"], "choices are viewer, editor"],
	[["tokens", "create", "a"], "'-r, --role <role>' not specified"],
	[["quarantine", "release", "a", "--days", "x"], '--days is "x", but must be'],
	[
		["quarantine", "release", "a", "--days=1", "--to=x"],
		"'--days <n>' cannot be used with option '--to <date>'",
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
		const { exitCode, stderr } = await tidemill(...args);
		expect(stderr).toContain(message);
		expect(stderr).toMatch(/^See: tidemill .*--help$/m);
		expect(exitCode).toBe(2);
	},
);

test.each([
	[[], 2],
	[["sources"], 2],
	[["help"], 0],
	[["help", "sources", "list"], 0],
	[["sources", "list", "-h"], 0],
	[["receive", "--help"], 0],
])("%j shows how to use the command", async (args, code) => {
	const { exitCode = 0, stdout, stderr } = await tidemill(...args);
	expect(code === 0 ? stdout : stderr).toMatch(
		new RegExp(
			`^Usage: ${["tidemill", ...args].slice(0, 2).join(" ")}`.replace(
				" help",
				"",
			),
		),
	);
	expect(exitCode).toBe(code);
});

test("each resource that has commands is found by all the names that kubectl knows", () => {
	const commands = createProgram().commands;
	for (const { kind, plural, shortNames } of readResourceSchemas())
		for (const name of [plural, ...shortNames]) {
			const found = commands.find(
				(command) =>
					command.name() === name || command.aliases().includes(name),
			);
			if (found)
				expect([name, found.name().replace("-", "")]).toEqual([name, plural]);
			else expect(["Destination", "Run"]).toContain(kind);
		}
});
