import { styleText } from "node:util";
import {
	destinationKind,
	operationKind,
	pipelineKind,
	runKind,
	sourceKind,
	trackingPlanKind,
} from "../crds/generated/types.ts";
import { chooseCluster } from "./command/cluster.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { dataOption, dataText } from "./command/output.ts";
import { ownVersion } from "./command/own-version.ts";
import { readFacts } from "./doctor/facts.ts";
import type { DoctorFinding } from "./doctor/finding.ts";
import { findings } from "./doctor/findings.ts";

const kinds = [
	sourceKind,
	destinationKind,
	pipelineKind,
	runKind,
	trackingPlanKind,
	operationKind,
];
/** A Run or an Operation that failed is no fault of the installation. */
const lasting = [sourceKind, destinationKind, pipelineKind, trackingPlanKind];
const rights = kinds.flatMap(({ plural }) =>
	["list", "create", "patch", "delete"].map((verb) => [verb, plural] as const),
);

/** `tidemill doctor`. */
export function define(doctor: CommandGroup): void {
	doctor
		.addOption(dataOption)
		.addHelpText(
			...examples("tidemill doctor", "tidemill doctor -n shop -o json"),
		)
		.action(async ({ output }, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const found = findings(await readFacts(cluster, rights, lasting), {
				expected: kinds.map(({ plural }) => plural),
				clientVersion: ownVersion(),
				namespace: cluster.namespace,
				nowMs: Date.now(),
			});
			process.stdout.write(
				output === "table"
					? found.map(lineOf).join("")
					: await dataText(found, output),
			);
			if (found.some(({ result }) => result === "failed")) process.exitCode = 1;
		});
}

const signs = {
	ok: ["green", "✓"],
	failed: ["red", "✗"],
	skipped: ["gray", "–"],
} as const;

function lineOf({ check, result, message, advice }: DoctorFinding): string {
	const [colour, sign] = signs[result];
	// Colours only on a terminal, and none with NO_COLOR (no-color.org).
	const shown = styleText(colour, sign, { stream: process.stdout });
	return `${shown} ${check}: ${message}\n${advice ? `  ${advice}\n` : ""}`;
}
