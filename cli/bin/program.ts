import {
	Command,
	type CommandUnknownOpts,
	Option,
} from "@commander-js/extra-typings";
import { SettingError } from "../../packages/service/settings.ts";
import type { CommandGroup } from "../command/group.ts";
import { ownVersion } from "../command/own-version.ts";
import { defineRoles } from "./roles.ts";
import { defineSql } from "./sql.ts";

/** Defined by the file that the command line needs, because each would cost help and the processes their start. */
const groups: Record<
	string,
	{
		/** The short name of the resource in kubectl, and its other names there. */
		aliases?: string[];
		about: string;
		load: () => Promise<{ define(group: CommandGroup): void }>;
	}
> = {
	init: {
		about: "ask five questions, and write the YAML of a source and its table",
		load: () => import("../init.ts"),
	},
	sources: {
		aliases: ["wsrc", "source"],
		about: "webhook connections, each with a URL of its own",
		load: () => import("../sources.ts"),
	},
	destinations: {
		aliases: ["wdst", "destination"],
		about: "warehouses that tables are loaded into",
		load: () => import("../destinations.ts"),
	},
	pipelines: {
		aliases: ["wpl", "pipeline"],
		about: "what loads a source into a table, on a schedule",
		load: () => import("../pipelines.ts"),
	},
	runs: {
		aliases: ["wrun", "run"],
		about: "executions of a pipeline",
		load: () => import("../runs.ts"),
	},
	"tracking-plans": {
		aliases: ["tplan", "trackingplans", "trackingplan", "tracking-plan"],
		about: "what a source's events should look like",
		load: () => import("../tracking-plans.ts"),
	},
	operations: {
		// `operation` is the process that performs one.
		aliases: ["wop"],
		about: "one-off work on a source's stored events",
		load: () => import("../operations.ts"),
	},
	events: {
		about: "send an event, and see those that are stored",
		load: () => import("../events/events.ts"),
	},
	trace: {
		about:
			"show where an event is, from its receipt to the tables; it asks the REST API (TIDEMILL_API_URL)",
		load: () => import("../events/trace.ts"),
	},
	logs: {
		about:
			"print the log of a run, of a pipeline's newest one, or of an operation",
		load: () => import("../logs.ts"),
	},
	dbt: {
		about: "what a dbt project needs to know of the tables",
		load: () => import("../dbt.ts"),
	},
	quarantine: {
		about: "events that are kept apart by a tracking plan",
		load: () => import("../quarantine.ts"),
	},
	doctor: {
		about:
			"check the cluster, your rights and the installation, and say what to do; the exit code is 1 if something is wrong",
		load: () => import("../doctor.ts"),
	},
	backup: {
		about:
			"print all resources for kubectl apply, and the names of what else a restore needs",
		load: () => import("../backup.ts"),
	},
	restore: {
		about:
			"compare a backup with the cluster, or say that a cluster is restored, which the operator waits for before it removes a route",
		load: () => import("../restore.ts"),
	},
	version: {
		about: "the versions of this command and of the cluster",
		load: () => import("../version.ts"),
	},
	completion: {
		about: "print the completion of bash, zsh or fish",
		load: () => import("../completion.ts"),
	},
	console: {
		about:
			"print the address of the console, where a browser shows and does it all",
		load: () => import("../console.ts"),
	},
	tokens: {
		about: "tokens for the REST API",
		load: () => import("../tokens.ts"),
	},
};

/** The whole command line of `tidemill`. Commands of a group are there once `loadGroup` has defined them. */
export function createProgram(): Command {
	const program = new Command("tidemill")
		.description(
			"Webhooks into your data warehouse, minutes later, on Kubernetes.",
		)
		.version(ownVersion(), "-v, --version", "print this command's version")
		.option("-n, --namespace <name>", "the namespace, as in kubectl")
		.option("--context <name>", "the context of the kubeconfig")
		.option("--kubeconfig <path>", "the kubeconfig")
		.configureHelp({ showGlobalOptions: true })
		// The command line reports errors, with the name of the command.
		.configureOutput({ outputError: () => undefined })
		.commandsGroup("Commands:");
	for (const [name, { aliases = [], about }] of Object.entries(groups))
		program
			.command(name)
			.helpCommand(false)
			.aliases(aliases)
			.description(about);
	defineSql(program);
	defineRoles(program);
	for (const { commands } of program.commands)
		for (const command of commands) addHabits(command as never);
	program
		.hook("preSubcommand", (_, group) => loadGroup(group as CommandGroup))
		.hook("preAction", requireVerification);
	return program as unknown as Command;
}

/** Defines the commands of a group, such as `tidemill sources list`. */
export async function loadGroup(group: CommandGroup): Promise<void> {
	// `sources list` isn't a group.
	if (group.parent?.parent) return;
	const found = groups[group.name()];
	if (!found || group.commands.length > 0) return;
	(await found.load()).define(group);
	for (const command of [group, ...group.commands]) addHabits(command as never);
}

/** What people type by habit: `ls` for `list`, and `--json` for `--output json`. */
function addHabits(command: CommandUnknownOpts): void {
	if (command.name() === "list") command.alias("ls");
	const output = command.options.find(({ long }) => long === "--output");
	if (output?.argChoices?.includes("json"))
		command.addOption(
			new Option("--json", "the same as --output json").implies({
				output: "json",
			}),
		);
}

/** Node's variable would switch off every verification, in each part of the process. */
export function skipsVerification(): boolean {
	return process.env.NODE_TLS_REJECT_UNAUTHORIZED === "0";
}

function requireVerification(): void {
	if (!skipsVerification()) return;
	throw new SettingError(
		'NODE_TLS_REJECT_UNAUTHORIZED is "0", so no certificate would be verified. Unset it, and name private authorities in NATS_CA_FILE, S3_CA_FILE or the kubeconfig.',
	);
}
