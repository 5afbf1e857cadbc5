import { annotation } from "../crds/labels.ts";
import { kinds } from "../packages/kube/kinds.ts";
import { chooseCluster } from "./command/cluster.ts";
import { CommandError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { print } from "./command/output.ts";

/** `tidemill restore`. */
export function define(restore: CommandGroup): void {
	restore
		.requiredOption(
			"--complete",
			"say that all resources are there again: the operator then removes the routes of sources that aren't, and unknown URLs are answered with 404",
		)
		.addHelpText(...examples("tidemill restore --complete -n tidemill"))
		.action(async (_, command) => {
			const { client, namespace } = await chooseCluster(
				command.optsWithGlobals(),
			);
			const { items } = await client.list(kinds.lease, { namespace });
			const waiting = items.filter(
				({ metadata }) =>
					metadata.annotations?.[annotation.restore] === "awaited",
			);
			if (waiting.length === 0)
				throw new CommandError(
					`No operator in namespace "${namespace}" waits for a restore. Name the namespace in which Tidemill is installed by --namespace.`,
				);
			const annotations = { [annotation.restore]: "complete" };
			for (const { metadata } of waiting) {
				await client.patch(
					kinds.lease,
					metadata.name,
					namespace,
					{ metadata: { annotations } },
					"merge",
				);
				print(
					`The operator with the Lease ${metadata.name} takes the resources as complete within seconds.`,
				);
			}
		});
}
