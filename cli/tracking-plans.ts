import {
	type OperationDryRun,
	type OperationSpec,
	trackingPlanKind,
} from "../crds/generated/types.ts";
import { chooseCluster } from "./command/cluster.ts";
import { datesOf, daysOption, fromOption, toOption } from "./command/dates.ts";
import { UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import {
	dataOption,
	dataText,
	print,
	remark,
	table,
} from "./command/output.ts";
import { definePlainCreate, readManifest } from "./resource/creation.ts";
import { performOperation } from "./resource/follower.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** The plan would have quarantined or rejected events. */
const blockedExitCode = 3;

/** `tidemill tracking-plans`. */
export function define(plans: CommandGroup): void {
	defineVerbs(plans, trackingPlanKind);
	definePlainCreate(plans, trackingPlanKind, {
		description: "Create a tracking plan. draft infers one from stored events.",
		example: "shop --set eventType.bodyPointer=/type",
	});
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
		.addOption(dataOption)
		.addHelpText(
			...examples(
				"tidemill tracking-plans dry-run shop --file plan.yaml --days 30",
			),
		)
		.action(async (source, { plan: name, file, output, ...days }, command) => {
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
			print(
				output === "table"
					? `${status!.summary}\n${findingsText(result)}`
					: await dataText(result, output),
			);
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
			...examples(
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
				remark(`${status!.summary}\n`);
				print(status!.draft!.trackingPlan);
			},
		);
}

async function planIn(file: string): Promise<object> {
	const { spec } = await readManifest(trackingPlanKind, file);
	const { displayName: _, ...plan } = spec as Record<string, unknown>;
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
	return `\n${table([["EVENTS", "TYPE", "FINDING", "PATH", "PROBLEM", "EXAMPLE"], ...rows])}${others}`;
}
