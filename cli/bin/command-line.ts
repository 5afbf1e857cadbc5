import {
	CommanderError,
	type CommandUnknownOpts,
} from "@commander-js/extra-typings";
import { shellWord } from "../../packages/escapes/shell.ts";
import { SettingError } from "../../packages/service/settings.ts";
import { messageOf, UsageError } from "../command/errors.ts";
import { print, remark } from "../command/output.ts";
import { createProgram, loadGroup, skipsVerification } from "./program.ts";

/**
 * Carries out a command line of `tidemill` and sets the exit code: 1 for a failure, 2 for an invalid command line or setting,
 * and others as the command's help says.
 */
export async function runCommandLine(args: string[]): Promise<void> {
	if (args[0] === "__complete") return complete(args.slice(1));
	const program = createProgram();
	let current: CommandUnknownOpts = program;
	const follow = (command: CommandUnknownOpts) => {
		command.exitOverride((error) => {
			current = command;
			throw error;
		});
		command.commands.forEach(follow);
	};
	follow(program);
	program
		.hook("preSubcommand", (_, group) => follow(group))
		.hook("preAction", (_, command) => {
			current = command;
			// As of a shell's variable that nobody has set.
			const empty = command.registeredArguments.find(
				(_, at) => command.args[at]?.trim() === "",
			);
			if (empty) throw new UsageError(`<${empty.name()}> is empty.`);
		});
	try {
		await program.parseAsync(asCommanderReads(args), { from: "user" });
	} catch (error) {
		process.exitCode = await report(error, pathOf(current), args);
	}
}

/**
 * `tidemill help sources list` is the same as `tidemill sources list --help`, which finds the commands of a group, too. As in
 * kubectl, `-o=yaml` is the same as `-o yaml`. SQL may begin with a comment, `-- …`, which is no option.
 */
function asCommanderReads(args: string[]): string[] {
	const [name, ...rest] = args.flatMap((arg) =>
		/^-[a-zA-Z]=/.test(arg) ? [arg.slice(0, 2), arg.slice(3)] : [arg],
	);
	if (name === "help") return [...rest, "--help"];
	if (name === "sql")
		return [name, ...rest.map((arg) => arg.replace(/^--[^\s=]*\s/, " $&"))];
	return name === undefined ? [] : [name, ...rest];
}

/** What a shell may put in place of the last word: one a line, with a tab and its description behind it. */
async function complete(words: string[]): Promise<void> {
	// It asks the cluster with the kubeconfig's credentials.
	if (skipsVerification()) return;
	const { candidatesFor, namesStarting } = await import("../completion.ts");
	const found = await candidatesFor(createProgram(), words, loadGroup as never);
	const named = await namesStarting(words.at(-1) ?? "", found);
	for (const { word, about } of [...found.candidates, ...named])
		print(about ? `${word}\t${about}\n` : `${word}\n`);
}

function pathOf(command: CommandUnknownOpts): string {
	const { parent } = command;
	return parent ? `${pathOf(parent)} ${command.name()}` : command.name();
}

/** Writes what went wrong and returns the exit code. Throws an error that nobody expects. */
async function report(
	error: unknown,
	path: string,
	args: readonly string[],
): Promise<number> {
	if (error instanceof CommanderError) {
		if (error.exitCode === 0) return 0;
		// The help itself says what is missing.
		if (error.code !== "commander.help") {
			const message = error.message.replace(/^error: /, "");
			const other = await elsewhere(error, args);
			// It is what was typed, which is nearer than what looks like it.
			if (other) write(path, message.replace(/\n\(Did you .*/s, ""), other);
			else write(path, message, help(path));
		}
		return 2;
	}
	const message = await messageOf(error);
	if (message === undefined) throw error;
	const isUsage = error instanceof UsageError;
	write(path, message, isUsage ? help(path) : "");
	// At once: a server that already listens would keep the process alive.
	if (error instanceof SettingError) process.exit(2);
	return isUsage ? 2 : 1;
}

/**
 * Where an unknown command is: `tidemill replay` is `tidemill events replay`, and what kubectl does as well is there alone. Undefined
 * if there is none.
 */
async function elsewhere(
	{ code, message }: CommanderError,
	args: readonly string[],
): Promise<string | undefined> {
	const [, word = ""] = /unknown command '(.+?)'/.exec(message) ?? [];
	if (code !== "commander.unknownCommand") return undefined;
	if (["get", "describe", "wait"].includes(word) && !args.includes("events"))
		return `kubectl does that: ${kubectlCommand(word, args)}\n`;
	const program = createProgram() as CommandUnknownOpts;
	const found: string[] = [];
	for (const group of program.commands) {
		await loadGroup(group as never);
		if (group.commands.some((one) => one.name() === word))
			found.push(`${pathOf(group)} ${word}`);
	}
	return found.length === 0
		? undefined
		: `There is: ${found.join(", ")}. See: ${found[0]} --help\n`;
}

/** The groups of resources have the names that kubectl has, but for a hyphen. */
function kubectlCommand(verb: string, args: readonly string[]): string {
	const words = args
		.filter((word) => word !== verb)
		.map((word) => word.replace(/^tracking-plan/, "trackingplan"));
	const isSaid = verb !== "wait" || words.some((word) => /^--for/.test(word));
	const all = [verb, ...words, ...(isSaid ? [] : ["--for=condition=Ready"])];
	return `kubectl ${all.map(shellWord).join(" ")}`;
}

function write(path: string, message: string, help: string): void {
	remark(`${path}: ${message}\n${help}`);
}

function help(path: string): string {
	return `See: ${path} --help\n`;
}
