import { type Run, runKind } from "../crds/generated/types.ts";
import { hasEnded } from "../crds/run.ts";
import { chooseCluster, requireObject } from "./command/cluster.ts";
import { CommandError, UsageError } from "./command/errors.ts";
import { examples, type Group } from "./command/group.ts";
import { followRun, requireSuccess } from "./follow/run-follower.ts";
import { writeRunLog } from "./follow/run-log.ts";
import { changeSpec } from "./resource/change.ts";
import { defineVerbs } from "./resource/verbs.ts";
import { defineStart } from "./run-start.ts";

/** `tidemill runs`. */
export function define(runs: Group): void {
	defineVerbs(runs, runKind, { newestFirst: true });
	defineStart(runs, "create");
	runs
		.command("logs")
		.description(
			"Print the log of a run. Of an ended run it is what the run keeps: its last 64 KiB through the REST API, if TIDEMILL_API_URL and TIDEMILL_API_TOKEN are set, and otherwise the last lines.",
		)
		.argument("<run>")
		.option("-f, --follow", "print new lines until the run ends")
		.option("--tail <lines>", "only the last lines", "1000")
		.addHelpText("after", examples("tidemill runs logs orders-1a2b3c -f"))
		.action(async (name, { follow = false, tail }, command) => {
			const lines = /^\d{1,5}$/.test(tail) ? Number(tail) : 0;
			if (lines < 1 || lines > 10_000)
				throw new UsageError(
					`--tail is "${tail}", but must be between 1 and 10000`,
				);
			const cluster = await chooseCluster(command.optsWithGlobals());
			const run = await requireObject<Run>(cluster, runKind, name);
			await writeRunLog(cluster, run, { follow, lines });
		});
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
	runs
		.command("cancel")
		.description(
			"Stop a run. Days that it has already replaced stay replaced. You can't undo this.",
		)
		.argument("<run>")
		.addHelpText("after", examples("tidemill runs cancel orders-1a2b3c"))
		.action(async (name, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const run = await requireObject<Run>(cluster, runKind, name);
			if (hasEnded(run))
				throw new CommandError(
					`the run "${name}" has already ended: ${run.status?.phase}.`,
				);
			await changeSpec(cluster, runKind, name, { cancel: true }, "cancelled");
		});
}
