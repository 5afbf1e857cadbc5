import type { Destination } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import type { KubeObject } from "../../packages/kube/resource.ts";
import { volumeClaimNameOf } from "../reconcile/informers.ts";
import type { Reason } from "../reconcile/reasons.ts";

export interface DestinationProblem {
	reason: Reason<"Destination">;
	message: string;
}

/** What a Destination's Jobs mount and run as, apart from Secrets: who may label those lets Tidemill use them. */
export interface BorrowedObjects {
	/** The PersistentVolumeClaim that the spec names, with or without the label; undefined if it doesn't exist. */
	volumeClaim: KubeObject | undefined;
	/** The ServiceAccount that the spec names, likewise. */
	serviceAccount: KubeObject | undefined;
}

/**
 * Why a Destination may not use what it names. Whoever may write Destinations may not be allowed to create Pods, and so
 * must not reach another application's volume or identity through Tidemill's.
 */
export function consentProblem(
	destination: Destination,
	{ volumeClaim, serviceAccount }: BorrowedObjects,
): DestinationProblem | undefined {
	const { metadata, spec } = destination;
	const namespace = metadata.namespace!;
	return (
		problemOf(
			"VolumeClaim",
			"PersistentVolumeClaim",
			{ namespace, name: volumeClaimNameOf(destination) },
			volumeClaim,
		) ??
		problemOf(
			"ServiceAccount",
			"ServiceAccount",
			{ namespace, name: spec.serviceAccountName },
			serviceAccount,
		)
	);
}

function problemOf(
	word: "VolumeClaim" | "ServiceAccount",
	kind: string,
	{ namespace, name }: { namespace: string; name: string | undefined },
	object: KubeObject | undefined,
): DestinationProblem | undefined {
	if (!name) return undefined;
	if (!object)
		return {
			reason: `${word}NotFound`,
			message: `There is no ${kind} "${name}" in namespace "${namespace}". Create it with the label ${label.use}: "true".`,
		};
	if (object.metadata.labels?.[label.use] === "true") return undefined;
	return {
		reason: `${word}NotLabelled`,
		message: `${kind} "${name}" lacks the label ${label.use}: "true", so Tidemill does not use it. Run: kubectl label ${kind.toLowerCase()} ${name} ${label.use}=true -n ${namespace}`,
	};
}
