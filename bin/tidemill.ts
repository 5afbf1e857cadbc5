import { SettingError } from "../service/settings.ts";

/** A role or a command for people. Returns the exit code; what it imports is loaded only when it is the one that runs. */
type Main = (args: string[]) => Promise<number>;

const commands: Record<
	string,
	{ about: string; load: () => Promise<{ main: Main }> }
> = {
	receive: {
		about: "accept webhooks and commit them to JetStream",
		load: () => import("../ingest/receive/main.ts"),
	},
	archive: {
		about: "move events from JetStream to S3, each into exactly one object",
		load: () => import("../ingest/archive/main.ts"),
	},
	ledger: {
		about: "count archived events anew: tidemill ledger rebuild",
		load: () => import("../ingest/archive/command/ledger-command.ts"),
	},
	shard: {
		about: "see what archive misses, and go on without: tidemill shard losses",
		load: () => import("../ingest/archive/command/shard-command.ts"),
	},
	load: {
		about: "carry out one Run: load its days into the destination",
		load: () => import("../ingest/load/main.ts"),
	},
	check: {
		about: "verify that a Destination can be written to",
		load: () => import("../ingest/check/main.ts"),
	},
	operator: {
		about: "reconcile Sources, Destinations, Pipelines and Runs",
		load: () => import("../operator/main.ts"),
	},
	api: {
		about: "serve the REST API",
		load: () => import("../api/main.ts"),
	},
	sources: {
		about: "see the sources: tidemill sources list",
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
	tokens: {
		about: "make a token for the REST API: tidemill tokens create <name>",
		load: () => import("../cli/tokens.ts"),
	},
	sql: {
		about: "query a DuckDB destination: tidemill sql 'select …'",
		load: () => import("../ingest/sql/main.ts"),
	},
};

const usage = `Usage: tidemill <command>\n\n${Object.entries(commands)
	.map(([name, { about }]) => `  ${name.padEnd(10)}${about}`)
	.join("\n")}\n`;

async function run([name, ...args]: string[]): Promise<number> {
	if (name === undefined || name === "help" || name === "--help") {
		process.stdout.write(usage);
		return name === undefined ? 2 : 0;
	}
	const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
	if (!command) {
		process.stderr.write(`tidemill: there is no command "${name}".\n${usage}`);
		return 2;
	}
	try {
		return await (await command.load()).main(args);
	} catch (error) {
		if (!(error instanceof SettingError)) throw error;
		process.stderr.write(`tidemill ${name}: ${error.message}\n`);
		return 2;
	}
}

process.exitCode = await run(process.argv.slice(2));
