import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type {
	OperationDryRun,
	OperationSpec,
} from "../crds/generated/types.ts";
import { chooseCluster } from "./command/cluster.ts";
import { datesOf, daysOption, fromOption, toOption } from "./command/dates.ts";
import { CommandError, UsageError } from "./command/errors.ts";
import { examples, type Group } from "./command/group.ts";
import { performOperation } from "./follow/operation-follower.ts";
import { table } from "./output/table.ts";

/** The plan would have quarantined or rejected events. */
const blockedExitCode = 3;

/** `tidemill tracking-plans`. */
export function define(plans: Group): void {
	plans
		.command("dry-run")
		.description(
			`Say what a tracking plan would have done with the source's stored events. Nothing changes. Without dates it reads the last seven days. The exit code is ${blockedExitCode} if the plan would have quarantined or rejected events.`,
		)
		.argument("<source>")
		.option("--plan <name>", "a tracking plan of the namespace")
		.option(
			"-f, --file <manifest>",
			"the manifest of a tracking plan; - is standard input",
		)
		.addOption(daysOption)
		.addOption(fromOption)
		.addOption(toOption)
		.addHelpText(
			"after",
			examples(
				"tidemill tracking-plans dry-run shop --file plan.yaml --days 30",
			),
		)
		.action(async (source, { plan: name, file, ...days }, command) => {
			if ((name === undefined) === (file === undefined))
				throw new UsageError("pass the plan with either --plan or --file");
			const dates = datesOf(days);
			const plan =
				file === undefined ? { name } : { inline: await planIn(file) };
			const cluster = await chooseCluster(command.optsWithGlobals());
			const { status } = await performOperation(cluster, {
				type: "DryRun",
				sourceRef: { name: source },
				plan: plan as NonNullable<OperationSpec["plan"]>,
				...dates,
			});
			const result = status!.dryRun!;
			process.stdout.write(`${status!.summary}\n${findingsText(result)}`);
			if (result.quarantined + result.rejected > 0)
				process.exitCode = blockedExitCode;
		});
	plans
		.command("draft")
		.description(
			"Infer a tracking plan from the source's stored events, and print its manifest. One option says where an event's type is.",
		)
		.argument("<source>")
		.option(
			"--body-pointer <pointer>",
			"where the body has the type, such as /event",
		)
		.option(
			"--header <name>",
			"the header that has the type, such as x-github-event",
		)
		.option("--constant <type>", "the type of all events")
		.addOption(daysOption)
		.addOption(fromOption)
		.addOption(toOption)
		.addHelpText(
			"after",
			examples(
				"tidemill tracking-plans draft shop --body-pointer /type > plan.yaml",
			),
		)
		.action(
			async (source, { bodyPointer, header, constant, ...days }, command) => {
				const given = Object.entries({ bodyPointer, header, constant }).filter(
					([, value]) => value !== undefined,
				);
				if (given.length !== 1)
					throw new UsageError(
						"use exactly one of --body-pointer, --header and --constant",
					);
				const dates = datesOf(days);
				const cluster = await chooseCluster(command.optsWithGlobals());
				const { status } = await performOperation(cluster, {
					type: "Draft",
					sourceRef: { name: source },
					eventType: Object.fromEntries(given),
					...dates,
				});
				process.stderr.write(`${status!.summary}\n`);
				process.stdout.write(status!.draft!.trackingPlan);
			},
		);
}

async function planIn(file: string): Promise<object> {
	let manifest: { kind?: unknown; spec?: Record<string, unknown> } | null;
	// yaml: reads the manifests that people write.
	const { parse } = await import("yaml");
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
