import { chooseCluster, requireObject } from "../command/cluster.ts";
import { UsageError } from "../command/errors.ts";
import { examples, type Group } from "../command/group.ts";
import {
	type LoggedKind,
	loggedKinds,
	type Work,
	writeJobLog,
} from "../resource/job-log.ts";

/** `tidemill runs logs` and `tidemill operations logs`. */
export function defineLogs(
	group: Group,
	kind: LoggedKind,
	example: string,
): void {
	const noun = kind.toLowerCase();
	const one = `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
	group
		.command("logs")
		.description(
			`Print the log of ${one}. Once it has ended, it is what is kept: the last 64 KiB through the REST API, if TIDEMILL_API_URL and TIDEMILL_API_TOKEN are set, and otherwise the last lines. describe shows what each failed attempt said.`,
		)
		.argument(`<${noun}>`)
		.option("-f, --follow", `print new lines until the ${noun} ends`)
		.option("--tail <lines>", "only the last lines", "1000")
		.addHelpText(
			"after",
			examples(`tidemill ${group.name()} logs ${example} -f`),
		)
		.action(async (name: string, { follow = false, tail }, command) => {
			const lines = /^\d{1,5}$/.test(tail) ? Number(tail) : 0;
			if (lines < 1 || lines > 10_000)
				throw new UsageError(
					`--tail is "${tail}", but must be between 1 and 10000`,
				);
			const cluster = await chooseCluster(command.optsWithGlobals());
			const work = await requireObject<Work>(cluster, loggedKinds[kind], name);
			await writeJobLog(cluster, kind, work, { follow, lines });
		});
}
