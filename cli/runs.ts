import { type Run, runKind } from "../crds/generated/types.ts";
import { hasEnded } from "../crds/run.ts";
import { chooseCluster, requireObject } from "./command/cluster.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { defineCancel } from "./resource/change.ts";
import { followRun, requireSuccess } from "./resource/follower.ts";
import { defineLogs } from "./resource/job-log.ts";
import { defineVerbs } from "./resource/verbs.ts";
import { defineStart } from "./run-start.ts";

/** `tidemill runs`. */
export function define(runs: CommandGroup): void {
	defineVerbs(runs, runKind, { newestFirst: true });
	defineStart(runs, "create");
	defineLogs(runs, "Run", "orders-1a2b3c");
	runs
		.command("wait")
		.description(
			"Show the progress of a run until it ends. The exit code is 1 if it fails or is cancelled.",
		)
		.argument("<run>")
		.addHelpText("after", examples("tidemill runs wait orders-1a2b3c"))
		.action(async (name, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const run = await requireObject<Run>(cluster, runKind, name);
			requireSuccess(hasEnded(run) ? run : await followRun(cluster, run));
		});
	defineCancel(runs, runKind, {
		description:
			"Stop a run. Days that it has already replaced stay replaced. You can't undo this.",
		example: "orders-1a2b3c",
	});
}
