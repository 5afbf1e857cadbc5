import {
	Argument,
	type CommandUnknownOpts,
	type Option,
} from "@commander-js/extra-typings";
import {
	destinationKind,
	operationKind,
	pipelineKind,
	runKind,
	sourceKind,
	trackingPlanKind,
} from "../crds/generated/types.ts";
import { kinds as kubeKinds } from "../packages/kube/kinds.ts";
import type { KubeObject, ResourceKind } from "../packages/kube/resource.ts";
import { chooseCluster, namesOf } from "./command/cluster.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { print } from "./command/output.ts";
import { providerNames } from "./provider/providers.ts";
import { fieldsStarting } from "./resource/fields.ts";

/** `tidemill completion`. */
export function define(completion: CommandGroup): void {
	completion
		.addArgument(
			new Argument("<shell>").choices(["bash", "zsh", "fish"] as const),
		)
		.addHelpText(
			...examples(
				"source <(tidemill completion bash)   # in ~/.bashrc",
				"source <(tidemill completion zsh)    # in ~/.zshrc, after compinit",
				"tidemill completion fish > ~/.config/fish/completions/tidemill.fish",
			),
		)
		.action((shell) => {
			print(scripts[shell]);
		});
}

/**
 * What a shell runs to complete a command line: `tidemill __complete` with the words so far prints a candidate a line, with a
 * tab and its description behind it. So the scripts know no command, and never have to be installed again.
 */
export const scripts = {
	bash: `# bash completion for tidemill. In ~/.bashrc: source <(tidemill completion bash)
_tidemill() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(tidemill __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ \${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -o default -F _tidemill tidemill
`,
	zsh: `#compdef tidemill
# zsh completion for tidemill. In ~/.zshrc, after compinit: source <(tidemill completion zsh)
_tidemill() {
  local -a candidates open
  local line
  for line in "\${(@f)$(tidemill __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ \${line%%$'\\t'*} == *= ]] && open+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") && continue
    [[ -n $line ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#open} )) && _describe tidemill open -S '' && return
  (( \${#candidates} )) && _describe tidemill candidates || _files
}
compdef _tidemill tidemill
`,
	fish: `# fish completion for tidemill: tidemill completion fish > ~/.config/fish/completions/tidemill.fish
function __tidemill_complete
  set -l words (commandline -opc) (commandline -ct)
  tidemill __complete $words[2..] 2>/dev/null
end
complete -c tidemill -f -a '(__tidemill_complete)'
`,
} as const;

export interface CompletionCandidate {
	word: string;
	about: string;
}

/** What a completion may be followed by: a name of the cluster, which the command line alone doesn't know. */
export interface CompletionQuestion {
	candidates: CompletionCandidate[];
	/** The kinds whose objects' names complete the word, such as `sources`. */
	names?: string[];
	/** The options that were given so far. */
	options: Record<string, string>;
}

/** Objects that an option names. */
const kindOfOption: Record<string, string> = {
	source: "sources",
	destination: "destinations",
	trackingPlan: "tracking-plans",
	plan: "tracking-plans",
	namespace: "namespaces",
};

/**
 * What may stand in place of the last word.
 * @param load Defines the commands of a group.
 */
export async function candidatesFor(
	program: CommandUnknownOpts,
	words: readonly string[],
	load: (group: CommandUnknownOpts) => Promise<void>,
): Promise<CompletionQuestion> {
	// Bash makes a word of each `=` (COMP_WORDBREAKS).
	const last = words.at(-1) === "=" ? "" : (words.at(-1) ?? "");
	const before = words.slice(0, -1).filter((word) => word !== "=");
	let command = program;
	let positionals = 0;
	let taken: { option: Option; value: string } | undefined;
	const options: Record<string, string> = {};
	for (let index = 0; index < before.length; index++) {
		const word = before[index]!;
		const [flag, given] = word.startsWith("--") ? word.split("=", 2) : [word];
		const option = word.startsWith("-")
			? findOption(command, flag!)
			: undefined;
		if (option) {
			if (!option.required || given !== undefined) continue;
			if (index === before.length - 1)
				return ofValue(command, option, last, options);
			taken = { option, value: before[++index]! };
			options[option.attributeName()] = taken.value;
		} else if (!word.startsWith("-")) {
			const found = command.commands.find(
				(one) => one.name() === word || one.aliases().includes(word),
			);
			if (found) {
				await load(found);
				command = found;
			} else positionals++;
		}
	}
	// `--set`, `suspend`, `=` and `t` are four words of bash, which replaces the last.
	const [equals, value] = words.at(-1) === "=" ? [-1, ""] : [-2, last];
	if (
		taken &&
		taken.value === words.at(equals - 1) &&
		words.at(equals) === "="
	) {
		const whole = `${taken.value}=${value}`;
		const found = ofValue(command, taken.option, whole, options);
		for (const one of found.candidates)
			one.word = one.word.slice(taken.value.length + 1);
		return found;
	}
	if (last.startsWith("-"))
		return { candidates: starting(last, optionsOf(command)), options };
	if (positionals === 0 && command.commands.length > 0)
		return { candidates: starting(last, commandsOf(command)), options };
	const argument =
		command.registeredArguments[positionals] ??
		command.registeredArguments.find(({ variadic }) => variadic);
	if (argument?.argChoices)
		return { candidates: starting(last, bare(argument.argChoices)), options };
	const names = argument && kindsOfArgument(argument.name(), command);
	return { candidates: [], options, ...(names && { names }) };
}

/** `<source>` is the name of a source, `<name>` of what has a log, and the names of `delete` and `edit` are of their group. */
function kindsOfArgument(
	name: string,
	command: CommandUnknownOpts,
): string[] | undefined {
	const group = command.parent?.name();
	if (name === "names" && group) return [group];
	if (command.name() === "logs" && name === "name")
		return ["pipelines", "runs", "operations"];
	return `${name}s` in kinds ? [`${name}s`] : undefined;
}

function ofValue(
	command: CommandUnknownOpts,
	option: Option,
	last: string,
	options: Record<string, string>,
): CompletionQuestion {
	const name = option.attributeName();
	const own = kinds[command.parent?.name() ?? ""];
	const fields = name === "set" && own && fieldsStarting(own, last);
	if (fields) return { candidates: fields, options };
	const words =
		name === "provider" ? providerNames() : (option.argChoices ?? []);
	const names = kindOfOption[name];
	return {
		candidates: starting(last, bare(words)),
		options,
		...(names && { names: [names] }),
	};
}

function findOption(
	command: CommandUnknownOpts,
	flag: string,
): Option | undefined {
	for (let at: CommandUnknownOpts | null = command; at; at = at.parent) {
		const found = at.options.find(
			({ short, long }) => short === flag || long === flag,
		);
		if (found) return found;
	}
	return undefined;
}

function optionsOf(command: CommandUnknownOpts): CompletionCandidate[] {
	const own = command.createHelp().visibleOptions(command);
	const inherited = command.parent ? program(command).options : [];
	return [...own, ...inherited].flatMap(({ long, description }) =>
		long ? [{ word: long, about: description }] : [],
	);
}

function program(command: CommandUnknownOpts): CommandUnknownOpts {
	return command.parent ? program(command.parent) : command;
}

function commandsOf(command: CommandUnknownOpts): CompletionCandidate[] {
	return command
		.createHelp()
		.visibleCommands(command)
		.map((one) => ({
			word: one.name(),
			about: one.summary() || one.description(),
		}));
}

function bare(words: readonly string[]): CompletionCandidate[] {
	return words.map((word) => ({ word, about: "" }));
}

function starting(
	start: string,
	candidates: CompletionCandidate[],
): CompletionCandidate[] {
	return candidates.filter(({ word }) => word.startsWith(start));
}

const kinds: Record<string, ResourceKind<KubeObject>> = {
	sources: sourceKind,
	destinations: destinationKind,
	pipelines: pipelineKind,
	runs: runKind,
	"tracking-plans": trackingPlanKind,
	operations: operationKind,
	namespaces: kubeKinds.namespace,
};
/** A person waits for it at each tab. */
const timeoutMs = 3_000;

/** The cluster's objects whose names start so. None if it isn't asked for any, or doesn't answer: a tab shows no errors. */
export async function namesStarting(
	start: string,
	{ names = [], options }: CompletionQuestion,
): Promise<CompletionCandidate[]> {
	if (names.length === 0) return [];
	try {
		const cluster = await chooseCluster(options, timeoutMs);
		const found = await Promise.all(
			names.map((name) => namesOf(cluster, kinds[name]!)),
		);
		return starting(start, bare(found.flat()));
	} catch {
		return [];
	}
}
