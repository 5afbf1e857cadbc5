import type { Command, CommandUnknownOpts } from "@commander-js/extra-typings";
import { UsageError } from "../command/errors.ts";
import { type ClusterOptions, examples } from "../command/group.ts";
import { outputIn, print } from "../command/output.ts";
import { ownVersion } from "../command/own-version.ts";

// biome-ignore lint/complexity/noBannedTypes: commander's own type for "no options".
type Program = Command<[], {}, ClusterOptions>;

/** A command that runs until it is told to stop, and returns the exit code. It imports its code only when it runs. */
type Load<Options> = () => Promise<{
	main(options: Options): Promise<number>;
}>;

const servers: Record<string, { about: string; load: Load<void> }> = {
	receive: {
		about: "accept webhooks and commit them to JetStream",
		load: () => import("../../ingest/receive/main.ts"),
	},
	archive: {
		about: "move events from JetStream to S3, each into exactly one object",
		load: () => import("../../ingest/archive/main.ts"),
	},
	operator: {
		about: "reconcile Sources, Destinations, Pipelines, Runs and Operations",
		load: () => import("../../operator/main.ts"),
	},
	api: {
		about: "serve the REST API",
		load: async () => {
			const { main } = await import("../../api/main.ts");
			return { main: () => main(ownVersion()) };
		},
	},
	notify: {
		about: "tell people's webhooks about Runs and Sources",
		load: () => import("../../ingest/notify/main.ts"),
	},
};

const jobs: Record<string, { about: string; load: Load<JobOptions> }> = {
	load: {
		about: "perform one Run: load its days into the destination",
		load: () => import("../../ingest/load/main.ts"),
	},
	check: {
		about: "verify that a Destination is writable",
		load: () => import("../../ingest/load/check.ts"),
	},
	operation: {
		about: "perform one Operation: read a Source's stored events",
		load: () => import("../../ingest/operation/operation.ts"),
	},
};

interface JobOptions {
	input?: string | undefined;
}

/** Defines the commands of an installation: its processes, and what its administrators run. */
export function defineRoles(program: Program): void {
	defineLedger(program);
	defineBuffer(program);
	const setup = program
		.command("setup")
		.helpGroup("Commands for an installation:")
		.description(
			"create the Secrets that the Helm chart needs; the chart runs it",
		)
		.option("--release <name>", "the release that they belong to")
		.option("--nats-passwords <secret>", "a Secret for NATS's passwords")
		.option("--nats-tls <secret>", "a Secret for NATS's certificate")
		.option(
			"--nats-hosts <names>",
			"the names under which clients reach NATS, separated by commas",
		)
		.option("--seal-key <secret>", "a Secret for the key that seals secrets")
		.option(
			"--console-key <secret>",
			"a Secret for the key that seals the console's sessions",
		)
		.option("--s3-keys <secret>", "a Secret for the keys of the bundled store")
		.action((_, command) =>
			start(
				() => import("../../operator/install/main.ts"),
				command.optsWithGlobals(),
			),
		);
	defineRotate(setup);
	program
		.command("nats-reloader")
		.helpGroup("Commands for an installation:")
		.description(
			"have NATS read changed passwords and certificates; the chart runs it beside NATS",
		)
		.option("--passwords <folder>", "a file for each user, with the password")
		.option("--tls <folder>", "tls.crt, tls.key and ca.crt")
		.option("--users-file <file>", "to write, for the configuration to include")
		.option("--config <file>", "nats-server's configuration")
		.option("--monitor <url>", "nats-server's monitoring port")
		.option(
			"--data <folder>",
			"on nats-server's disk, to end it after a full one",
		)
		.action((_, command) =>
			start(
				() => import("../../operator/install/nats-reloader.ts"),
				command.optsWithGlobals(),
			),
		);
	for (const [name, { about, load }] of Object.entries(servers)) {
		const command = processCommand(program, name, about).action(() =>
			startServer(load),
		);
		if (name === "operator") defineMove(command);
	}
	for (const [name, { about, load }] of Object.entries(jobs))
		processCommand(program, name, about)
			.option("--input <file>", "what the operator wants it to do, as JSON")
			.action(async (options) => {
				await start(load, options);
				// No socket or timer of a library keeps a Job that has ended.
				process.exit();
			});
}

function defineLedger(program: Program) {
	const ledger = program
		.command("ledger")
		.helpGroup("Commands for administrators, with the settings of archive:")
		.description("the counts of archived events")
		.helpCommand(false)
		.addHelpText(
			...examples("tidemill ledger rebuild", "tidemill ledger verify"),
		);
	ledger
		.command("rebuild")
		.description(
			"Count the archived events of all shards again from the records of cuts, releases and imports, publish the counts, and print for each source and date how many are archived, how many in quarantine, and how many missing, if any are: then the exit code is 1. Of a date that the ledger no longer holds, only the imported events are printed. It reads the same settings as archive, whichever of several, and can run beside it.",
		)
		.addHelpText(...examples("tidemill ledger rebuild"))
		.action(() =>
			start(() => import("../../ingest/lake/ledger-command.ts"), undefined),
		);
	ledger
		.command("verify")
		.description(
			"Compare the bucket with the records of archive's shards, for all dates that Runs may load, and print what is missing, by Source and date with its rows, and what is there without a record. The exit code is 1 if there is any. It changes nothing, reads the same settings as archive and can run beside it.",
		)
		.addOption(outputIn(["table", "json"]))
		.addHelpText(
			...examples("tidemill ledger verify", "tidemill ledger verify -o json"),
		)
		.action((options) =>
			start(() => import("../../ingest/lake/verify-command.ts"), options),
		);
	ledger
		.command("accept-loss")
		.description(
			"Accept that the objects which a date of a Source lacks now are gone for good. Runs of that date leave them out and say so, and so does the Source. What a table still has of them stays there. An object that comes back counts again. It reads the same settings as archive and can run beside it.",
		)
		.requiredOption("--source <key>", "the source key, as verify prints it")
		.requiredOption("--date <date>", "YYYY-MM-DD")
		.addHelpText(
			...examples(
				"tidemill ledger accept-loss --namespace shop --source 5f0c… --date 2026-11-29",
			),
		)
		.action(({ source, date }, command) => {
			const { namespace } = command.optsWithGlobals() as ClusterOptions;
			if (namespace === undefined)
				throw new UsageError("--namespace is missing. Name the Source's.");
			if (!/^[0-9a-f]{32}$/.test(source))
				throw new UsageError(
					`--source is "${source}", but must be a source key: the 32 hex digits in status.webhookURL after /hooks/.`,
				);
			if (!/^\d{4}-\d\d-\d\d$/.test(date))
				throw new UsageError(`--date is "${date}", but must be YYYY-MM-DD.`);
			const options = { account: namespace, sourceKey: source, date };
			return start(
				() => import("../../ingest/lake/accept-loss-command.ts"),
				options,
			);
		});
	ledger
		.command("accept-bucket")
		.description(
			"Accept the bucket and prefix of archive's settings as they are, although NATS knows another bucket or this is an older copy. What archive had stored and this bucket has no record of counts as lost. Prints what is accepted. Archive begins anew with it within seconds. It reads the same settings as archive and runs beside it.",
		)
		.addHelpText(...examples("tidemill ledger accept-bucket"))
		.action(() =>
			start(
				() => import("../../ingest/lake/accept-bucket-command.ts"),
				undefined,
			),
		);
}

function defineBuffer(program: Program) {
	const buffer = program
		.command("buffer")
		.helpGroup("Commands for administrators, with the settings of archive:")
		.description("the streams in NATS that hold what isn't in the bucket yet")
		.helpCommand(false)
		.addHelpText(...examples("tidemill buffer list"));
	const load = () => import("../../ingest/archive/buffer-command.ts");
	type Verb = Parameters<Awaited<ReturnType<typeof load>>["main"]>[0];
	const carryOut = (verb: Verb) => start(load, verb);
	const stream = ["--stream <name>", "the stream, as list prints it"] as const;
	buffer
		.command("list")
		.description(
			"Print a line for each stream of Tidemill: how much it holds, its sequences and copies, and of a shard's stream the alarm with which archive has stopped and whether its first frame can be read. It changes nothing.",
		)
		.addHelpText(...examples("tidemill buffer list"))
		.action(() => carryOut({ verb: "list" }));
	buffer
		.command("copy")
		.description(
			"Print the frames of a shard's stream, or one of them, as lines of JSON, to keep them before they are purged. They hold people's events. It changes nothing.",
		)
		.requiredOption(...stream)
		.option("--sequence <number>", "this frame alone")
		.addHelpText(
			...examples(
				"tidemill buffer copy --stream tidemill-frames-0-5f0c… --sequence 17",
			),
		)
		.action(({ stream, sequence }) =>
			carryOut({ verb: "copy", stream, sequence: sequenceIn(sequence) }),
		);
	buffer
		.command("purge")
		.description(
			"Remove the first frame of a shard's stream, if this version of archive can't read it: after the alarm FrameUnreadable. Archive counts it as lost once it is restarted. Nothing else is removed.",
		)
		.requiredOption(...stream)
		.requiredOption("--sequence <number>", "the frame")
		.addHelpText(
			...examples(
				"tidemill buffer purge --stream tidemill-frames-0-5f0c… --sequence 17",
			),
		)
		.action(({ stream, sequence }) =>
			carryOut({ verb: "purge", stream, sequence: sequenceIn(sequence)! }),
		);
	buffer
		.command("give-up")
		.description(
			"Delete a shard's stream with all its frames, if archive has stopped the shard with StreamBehind, CutMismatch or CutsMissing. Archive makes a new one once it is restarted, and counts what is lost.",
		)
		.requiredOption(...stream)
		.addHelpText(
			...examples("tidemill buffer give-up --stream tidemill-frames-0-5f0c…"),
		)
		.action(({ stream }) => carryOut({ verb: "give-up", stream }));
	buffer
		.command("replicas")
		.description(
			"Give each stream of Tidemill as many copies as the setting STREAM_REPLICAS says, as after nats.replicas was raised from 1 to 3.",
		)
		.addHelpText(...examples("tidemill buffer replicas"))
		.action(() => carryOut({ verb: "replicas" }));
}

function sequenceIn(text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	const sequence = Number(text);
	if (!Number.isSafeInteger(sequence) || sequence < 1)
		throw new UsageError(
			`--sequence is "${text}", but must be a whole number from 1 on, as archive's log has it.`,
		);
	return sequence;
}

function defineRotate(setup: CommandUnknownOpts) {
	setup
		.helpCommand(false)
		.command("rotate")
		.argument(
			"<what>",
			"nats-passwords, nats-certificate, seal-key, console-key or store-keys",
		)
		.description(
			"Replace the values of a Secret of the chart step by step, while everything runs. It can be repeated at any time, and goes on where it was interrupted.",
		)
		.option(
			"--release <name>",
			"the release that the Secret belongs to",
			"tidemill",
		)
		.option(
			"--secret <name>",
			"the Secret, if it has another name than the chart's",
		)
		.option(
			"--settle <seconds>",
			"how long a changed Secret may take until every process has it",
			"150",
		)
		.option(
			"--now",
			"remove the former seal key at once; what it has sealed is lost",
		)
		.addHelpText(
			...examples(
				"tidemill setup rotate nats-passwords --namespace tidemill-system",
			),
		)
		.action(async (what, options, command) => {
			const { chooseCluster } = await import("../command/cluster.ts");
			const { rotate } = await import("../../operator/install/rotate.ts");
			const settleSeconds = Number(options.settle);
			if (!(settleSeconds >= 0))
				throw new UsageError(
					`--settle is "${options.settle}". It must be a number of seconds.`,
				);
			process.exitCode = await rotate(what, {
				...(await chooseCluster(command.optsWithGlobals() as ClusterOptions)),
				// Setup itself has an option of the same name, which takes its value.
				release: (command.optsWithGlobals() as { release: string }).release,
				secret: options.secret,
				settleSeconds,
				isNow: options.now ?? false,
				say: (line) => print(`${line}\n`),
			});
		});
}

function defineMove(operator: CommandUnknownOpts) {
	operator
		.helpCommand(false)
		.command("move")
		.helpGroup("Commands for administrators, with the settings of operator:")
		.description(
			"Send the new events of a Source to another shard. Its earlier events stay where they are, and Runs load both. It reads the same settings as operator and runs beside it. It can be repeated at any time, also after it was interrupted.",
		)
		.requiredOption("--source <name>", "the Source, in --namespace")
		.requiredOption("--shard <number>", "the shard of its new events")
		.addHelpText(
			...examples(
				"tidemill operator move --namespace shop --source orders --shard 1",
			),
		)
		.action((_, command) => {
			const { namespace, source, shard } = command.optsWithGlobals();
			if (namespace === undefined)
				throw new UsageError("--namespace is missing. Name the Source's.");
			const options = { namespace, source, shard };
			return start(() => import("../../operator/move.ts"), options);
		});
}

function processCommand(program: Program, name: string, about: string) {
	return program
		.command(name)
		.helpGroup("Processes:")
		.configureHelp({ showGlobalOptions: false })
		.description(about)
		.addHelpText(
			"after",
			"\nA process of Tidemill. Its settings are environment variables. docs/reference/settings.md lists them.",
		);
}

/**
 * Starts a process. While files of its Secrets can't be used, it waits for them to be put right, and says so on `/readyz`:
 * kubelet would start a process that ended ever more seldom.
 */
async function startServer(load: Load<void>): Promise<void> {
	const { main } = await load();
	const { whenFilesWork } = await import(
		"../../packages/service/secret-files.ts"
	);
	const { createLog } = await import("../../packages/service/log.ts");
	let waiting: { close(): Promise<void> } | undefined;
	process.exitCode = await whenFilesWork(
		async () => {
			await waiting?.close();
			waiting = undefined;
			return main();
		},
		async (fault) => {
			const { serveFault } = await import(
				"../../packages/service/health-server.ts"
			);
			waiting = await serveFault(fault);
		},
		createLog("start"),
	);
}

async function start<Options>(
	load: Load<Options>,
	options: Options,
): Promise<void> {
	process.exitCode = await (await load()).main(options);
}
