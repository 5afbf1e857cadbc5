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
import { dataOption, dataText, print } from "./command/output.ts";
import { ownVersion } from "./command/own-version.ts";
import { readFacts } from "./doctor/facts.ts";
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
			if (output !== "table") print(await dataText(found, output));
			else
				for (const { check, result, message, advice } of found) {
					const [colour, sign] = signs[result];
					const text = `${check}: ${message}\n${advice ? `  ${advice}\n` : ""}`;
					print(text, colour, sign);
				}
			if (found.some(({ result }) => result === "failed")) process.exitCode = 1;
		});
}

const signs = {
	ok: ["green", "✓"],
	failed: ["red", "✗"],
	skipped: ["gray", "–"],
} as const;
