import { cacheCompiledCode } from "../service/cache.ts";
import { SettingError } from "../service/settings.ts";

/** Returns the exit code. */
type Main = (args: string[]) => Promise<number>;

interface Command {
	about: string;
	/** Imports the command only when it runs. */
	load: () => Promise<{ main: Main }>;
}

const groups: Record<string, Record<string, Command>> = {
	Commands: {
		sources: {
			about: "list the sources: tidemill sources list",
			load: () => import("../cli/sources.ts"),
		},
		pipelines: {
			about: "start a run: tidemill pipelines run <name> --wait",
			load: () => import("../cli/pipelines.ts"),
		},
		events: {
			about: "send an event: tidemill events send <source> --data '{…}'",
			load: () => import("../cli/events.ts"),
		},
		"tracking-plans": {
			about:
				"try a plan on stored events, or draft one: tidemill tracking-plans dry-run <source> --plan <name>",
			load: () => import("../cli/tracking-plans.ts"),
		},
		quarantine: {
			about:
				"list what is in quarantine, and release it: tidemill quarantine release <source>",
			load: () => import("../cli/quarantine.ts"),
		},
		operations: {
			about: "list and cancel operations: tidemill operations list",
			load: () => import("../cli/operations.ts"),
		},
		tokens: {
			about:
				"create a token for the REST API: tidemill tokens create <name> --role viewer",
			load: () => import("../cli/tokens.ts"),
		},
		sql: {
			about: "query a DuckDB destination: tidemill sql 'select …'",
			load: () => import("../ingest/sql/main.ts"),
		},
	},
	"Commands for administrators, with the settings of archive": {
		ledger: {
			about: "recount the archived events: tidemill ledger rebuild",
			load: () => import("../ingest/archive/command/ledger-command.ts"),
		},
	},
	"Commands for an installation": {
		setup: {
			about: "create the Secrets that the Helm chart needs; the chart runs it",
			load: () => import("../install/setup/main.ts"),
		},
	},
	Processes: {
		receive: {
			about: "accept webhooks and commit them to JetStream",
			load: () => import("../ingest/receive/main.ts"),
		},
		archive: {
			about: "move events from JetStream to S3, each into exactly one object",
			load: () => import("../ingest/archive/main.ts"),
		},
		load: {
			about: "perform one Run: load its days into the destination",
			load: () => import("../ingest/load/main.ts"),
		},
		check: {
			about: "verify that a Destination is writable",
			load: () => import("../ingest/check/main.ts"),
		},
		operation: {
			about: "perform one Operation: read a Source's stored events",
			load: () => import("../ingest/operation/main.ts"),
		},
		operator: {
			about: "reconcile Sources, Destinations, Pipelines, Runs and Operations",
			load: () => import("../operator/main.ts"),
		},
		api: {
			about: "serve the REST API",
			load: () => import("../api/main.ts"),
		},
	},
};

/** `tidemill help sources` is the same as `tidemill sources --help`. */
function run([name, ...args]: string[]): Promise<number> {
	const isHelp = name === "help" && args[0] !== undefined;
	return isHelp ? runCommand(args[0]!, ["--help"]) : runCommand(name, args);
}

async function runCommand(
	name: string | undefined,
	args: string[],
): Promise<number> {
	if (name === undefined || ["help", "--help", "-h"].includes(name)) {
		process.stdout.write(await usage());
		return name === undefined ? 2 : 0;
	}
	const command = Object.values(groups)
		.filter((commands) => Object.hasOwn(commands, name))
		.map((commands) => commands[name]!)[0];
	if (!command) {
		process.stderr.write(
			`tidemill: unknown command "${name}". See: tidemill help\n`,
		);
		return 2;
	}
	if (Object.hasOwn(groups.Processes!, name) && asksForHelp(args)) {
		process.stdout.write(processUsage(name, command));
		return 0;
	}
	try {
		requireVerification();
		return await (await command.load()).main(args);
	} catch (error) {
		if (!(error instanceof SettingError)) throw error;
		process.stderr.write(`tidemill ${name}: ${error.message}\n`);
		// At once: a server that already listens would keep the process alive.
		process.exit(2);
	}
}

/** Node's variable would switch off every verification, in each part of the process. */
function requireVerification(): void {
	if (process.env.NODE_TLS_REJECT_UNAUTHORIZED !== "0") return;
	throw new SettingError(
		'NODE_TLS_REJECT_UNAUTHORIZED is "0", so no certificate would be verified. Unset it, and name private authorities in NATS_CA_FILE, S3_CA_FILE or the kubeconfig.',
	);
}

function asksForHelp(args: string[]): boolean {
	return args.includes("--help") || args.includes("-h");
}

function processUsage(name: string, { about }: Command): string {
	return `Usage: tidemill ${name}\n\nA process of Tidemill: ${about}.\nIts settings are environment variables. docs/reference/settings.md lists them.\n`;
}

async function usage(): Promise<string> {
	const { readResourceSchemas } = await import("../crds/resource-schema.ts");
	const sections = Object.entries(groups).map(([title, commands]) =>
		section(
			title,
			Object.entries(commands).map(([name, { about }]) => [name, about]),
		),
	);
	const resources = section(
		"Resources, with the short names that kubectl also accepts",
		readResourceSchemas().map(({ plural, shortNames }) => [
			plural,
			shortNames.join(", "),
		]),
	);
	return `Usage: tidemill <command>\n\n${[...sections, resources].join("\n")}\nMore about a command: tidemill help <command>\n`;
}

function section(title: string, rows: [string, string][]): string {
	const width = Math.max(...rows.map(([name]) => name.length)) + 2;
	const lines = rows.map(([name, text]) => `  ${name.padEnd(width)}${text}\n`);
	return `${title}:\n${lines.join("")}`;
}

cacheCompiledCode();
process.exitCode = await run(process.argv.slice(2));
