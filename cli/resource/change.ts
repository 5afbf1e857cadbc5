import { randomUUID } from "node:crypto";
import type { Operation, Run } from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import type { KubeObject, ResourceKind } from "../../packages/kube/resource.ts";
import { awaitObject } from "../../packages/kube/watch/object-wait.ts";
import {
	type Cluster,
	chooseCluster,
	requireObject,
} from "../command/cluster.ts";
import { CommandError } from "../command/errors.ts";
import { type CommandGroup, examples } from "../command/group.ts";
import { untilInterrupted } from "../command/interrupt.ts";
import { nameOf, print } from "../command/output.ts";

const operatorWaitMs = 60_000;

/** Changes an object's spec by a merge patch (RFC 7396) and prints what it is now. */
export async function changeSpec(
	cluster: Cluster,
	kind: ResourceKind<KubeObject>,
	name: string,
	spec: object,
	done: string,
): Promise<void> {
	const found = await requireObject(cluster, kind, name);
	await patch(cluster, kind, found, { spec });
	print(`${nameOf(found)} ${done}\n`);
}

/**
 * Sets an annotation to a new value, as the operator acts on it once, and waits until that is done. Throws
 * {@link CommandError} if it isn't within a minute.
 */
export async function askOperator<T extends KubeObject>(
	cluster: Cluster,
	kind: ResourceKind<T>,
	name: string,
	annotation: string,
	isDone: (before: T, seen: T, value: string) => boolean,
): Promise<T> {
	const value = randomUUID();
	const before = await requireObject<T>(cluster, kind, name);
	const asked = await patch<T>(cluster, kind, before, {
		annotations: { [annotation]: value },
	});
	const last = await untilInterrupted(
		`The operator does it without this command. See: kubectl describe ${kind.kind.toLowerCase()} ${name} -n ${cluster.namespace}`,
		awaitObject(
			cluster.client,
			kind,
			asked,
			(seen) => isDone(before, seen, value),
			AbortSignal.timeout(operatorWaitMs),
		),
	);
	if (last && isDone(before, last, value)) return last;
	throw new CommandError(
		`the operator hasn't done it within ${operatorWaitMs / 1_000} s. Find out whether it runs: tidemill doctor`,
	);
}

function patch<T extends KubeObject>(
	{ client, namespace }: Cluster,
	kind: ResourceKind<T>,
	{ metadata }: T,
	{ spec, annotations }: { spec?: object; annotations?: object },
): Promise<T> {
	const { name, uid } = metadata;
	return client.patch<T>(
		kind,
		name,
		namespace,
		{
			metadata: { uid, ...(annotations && { annotations }) },
			...(spec && { spec }),
		},
		"merge",
		{ fieldManager: "tidemill" },
	);
}

/** The verbs suspend and resume of a kind that has `spec.suspend`. */
export function defineSuspension(
	group: CommandGroup,
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
			.addHelpText(...examples(`tidemill ${group.name()} ${verb} ${example}`))
			.action(async (name: string, _, command) => {
				const cluster = await chooseCluster(command.optsWithGlobals());
				await changeSpec(cluster, kind, name, { suspend }, done);
			});
}

/** `tidemill runs cancel` and `tidemill operations cancel`. */
export function defineCancel(
	group: CommandGroup,
	kind: ResourceKind<Run | Operation>,
	about: { description: string; example: string },
): void {
	const noun = kind.kind.toLowerCase();
	group
		.command("cancel")
		.description(about.description)
		.argument(`<${noun}>`)
		.addHelpText(
			...examples(`tidemill ${group.name()} cancel ${about.example}`),
		)
		.action(async (name: string, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const found = await requireObject(cluster, kind, name);
			if (hasEnded(found))
				throw new CommandError(
					`the ${noun} "${name}" has already ended: ${found.status?.phase}.`,
				);
			await changeSpec(cluster, kind, name, { cancel: true }, "cancelled");
		});
}
