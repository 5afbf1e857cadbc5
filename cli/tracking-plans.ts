import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
// yaml: reads the manifests that people write.
import { parse } from "yaml";
import type {
	OperationDryRun,
	OperationSpec,
} from "../crds/generated/types.ts";
import { chooseCluster } from "./cluster.ts";
import { CommandError, command } from "./command.ts";
import {
	datesOf,
	dayOptions,
	daysUsage,
	readArguments,
	UsageError,
} from "./command-line.ts";
import { performOperation } from "./operation-follower.ts";
import { table } from "./table.ts";

/** The plan would have quarantined or rejected events. */
const blockedExitCode = 3;

/** `tidemill tracking-plans`. */
export const main = command("tracking-plans", {
	"dry-run": {
		usage: `<source> (--plan <name> | --file <manifest>) ${daysUsage}`,
		about: [
			"Says what a tracking plan would have done with the source's stored events. Nothing changes.",
			"--plan names a tracking plan of the namespace. --file is the manifest of one; --file - reads standard input.",
			"Without dates it reads the last seven days. The exit code is 3 if the plan would have quarantined or rejected events.",
		],
		run: dryRun,
	},
	draft: {
		usage: `<source> (--body-pointer <pointer> | --header <name> | --constant <type>) ${daysUsage}`,
		about: [
			"Infers a tracking plan from the source's stored events, and prints its manifest.",
			"The option says where an event's type is, such as --body-pointer /event or --header x-github-event.",
		],
		run: draft,
	},
});

async function dryRun(args: string[]): Promise<number> {
	const { values, positionals } = readArguments(args, ["<source>"], {
		...dayOptions,
		plan: { type: "string" },
		file: { type: "string", short: "f" },
	});
	const { plan: name, file } = values;
	if ((name === undefined) === (file === undefined))
		throw new UsageError("pass the plan with either --plan or --file");
	const plan = file === undefined ? { name } : { inline: await planIn(file) };
	const { status } = await performOperation(await chooseCluster(values), {
		type: "DryRun",
		sourceRef: { name: positionals[0]! },
		plan: plan as NonNullable<OperationSpec["plan"]>,
		...datesOf(values),
	});
	const result = status!.dryRun!;
	process.stdout.write(`${status!.summary}\n${findingsText(result)}`);
	return result.quarantined + result.rejected > 0 ? blockedExitCode : 0;
}

async function draft(args: string[]): Promise<number> {
	const { values, positionals } = readArguments(args, ["<source>"], {
		...dayOptions,
		"body-pointer": { type: "string" },
		header: { type: "string" },
		constant: { type: "string" },
	});
	const { "body-pointer": bodyPointer, header, constant } = values;
	const given = Object.entries({ bodyPointer, header, constant }).filter(
		([, value]) => value !== undefined,
	);
	if (given.length !== 1)
		throw new UsageError(
			"use exactly one of --body-pointer, --header and --constant",
		);
	const { status } = await performOperation(await chooseCluster(values), {
		type: "Draft",
		sourceRef: { name: positionals[0]! },
		eventType: Object.fromEntries(given),
		...datesOf(values),
	});
	process.stderr.write(`${status!.summary}\n`);
	process.stdout.write(status!.draft!.trackingPlan);
	return 0;
}

async function planIn(file: string): Promise<object> {
	let manifest: { kind?: unknown; spec?: Record<string, unknown> } | null;
	try {
		manifest = parse(
			file === "-" ? await text(process.stdin) : await readFile(file, "utf8"),
		);
	} catch (error) {
		throw new CommandError(`cannot read ${file}: ${(error as Error).message}`);
	}
	if (manifest?.kind !== "TrackingPlan" || !manifest.spec)
		throw new CommandError(
			`${file} is not the manifest of a TrackingPlan: its kind is "${manifest?.kind}".`,
		);
	const { displayName: _, ...plan } = manifest.spec;
	return plan;
}

function findingsText({
	findings = [],
	otherFindings,
}: OperationDryRun): string {
	if (findings.length === 0) return "";
	const rows = findings.map(
		({ type = "", kind, path, events, message = "", example }) => [
			String(events),
			type,
			kind,
			path,
			message,
			example,
		],
	);
	const others =
		otherFindings === undefined ? "" : `and ${otherFindings} more findings\n`;
	return `\n${table([["EVENTS", "TYPE", "FINDING", "PATH", "EXPECTED", "EXAMPLE"], ...rows])}${others}`;
}
