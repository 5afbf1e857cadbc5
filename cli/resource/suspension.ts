import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { chooseCluster } from "../command/cluster.ts";
import { examples, type Group } from "../command/group.ts";
import { changeSpec } from "./change.ts";

/** The verbs suspend and resume of a kind that has `spec.suspend`. */
export function defineSuspension(
	group: Group,
	kind: ResourceKind<KubeObject>,
	{ example, ...about }: { example: string; suspend: string; resume: string },
): void {
	for (const [verb, suspend, done] of [
		["suspend", true, "suspended"],
		["resume", false, "resumed"],
	] as const)
		group
			.command(verb)
			.description(about[verb])
			.argument(`<${kind.kind.toLowerCase()}>`)
			.addHelpText(
				"after",
				examples(`tidemill ${group.name()} ${verb} ${example}`),
			)
			.action(async (name: string, _, command) => {
				const cluster = await chooseCluster(command.optsWithGlobals());
				await changeSpec(cluster, kind, name, { suspend }, done);
			});
}
