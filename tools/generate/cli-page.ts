import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { createProgram, loadGroup } from "../../cli/bin/program.ts";

const program: CommandUnknownOpts = createProgram();
for (const group of program.commands) await loadGroup(group as never);

/** The help of each command. */
export function commandHelp(): string {
	return [
		`\`\`\`text\n${helpOf(program)}\n\`\`\`\n`,
		...program.commands.flatMap(sections),
	].join("\n");
}

function sections(command: CommandUnknownOpts): string[] {
	const level = command.parent === program ? "##" : "###";
	return [
		`${level} ${pathOf(command)}\n`,
		`\`\`\`text\n${helpOf(command)}\n\`\`\`\n`,
		...command.commands.flatMap(sections),
	];
}

/** The help as people see it, without the options that every command has. */
function helpOf(command: CommandUnknownOpts): string {
	let text = "";
	command
		.configureHelp({ showGlobalOptions: false, helpWidth: 100 })
		.configureOutput({
			writeOut: (written) => {
				text += written;
			},
		})
		.outputHelp();
	return text.trimEnd();
}

function pathOf(command: CommandUnknownOpts): string {
	return command.parent
		? `${pathOf(command.parent)} ${command.name()}`
		: command.name();
}
