import { createHash } from "node:crypto";
import {
	type Destination,
	type DestinationSpec,
	destinationKind,
} from "../../crds/generated/types.ts";
import { label, managedByTidemill } from "../../crds/labels.ts";
import type { CheckInput } from "../../packages/contracts/job.ts";
import type { Job, Secret } from "../../packages/kube/kinds.ts";
import { isControlledBy } from "../../packages/kube/resource.ts";
import type { WarehouseAccess } from "../../packages/warehouses/definition/definition.ts";
import { warehouseOf } from "../../packages/warehouses/registry.ts";
import { type JobWithInput, jobWithInput } from "../jobs/template.ts";
import { secretNamed } from "../reconcile/secret-ref.ts";
import { verifiedSettings } from "./settings.ts";

/** A check that takes longer is stuck, for example because its volume is missing. */
export const checkDeadlineSeconds = 300;

/** A Job that verifies a Destination, and its input, which has the same name. */
export interface DestinationCheck extends JobWithInput {
	hash: string;
}

/**
 * Digest of what a check verifies. A default counts as absent, and a new field stands behind those of its CRD: a CRD that gains a
 * field or a default must not make every Destination unverified.
 * @param credentials The Secrets that the spec names.
 */
export function checkHash(
	spec: DestinationSpec,
	credentials: readonly Secret[] = [],
): string {
	const { type, serviceAccountName, checkTemplate } = spec;
	const warehouse = warehouseOf(spec);
	const uses = warehouse?.definition.secrets?.(warehouse.own) ?? [];
	const verified = {
		// Raised when a check verifies more of the same spec.
		version: 1,
		type,
		serviceAccountName: serviceAccountName || undefined,
		...(warehouse && verifiedSettings(warehouse)),
		...Object.fromEntries(
			uses.map(({ name, key, verifiedAs }) => [
				verifiedAs,
				secretNamed(name, credentials)?.data?.[key] ?? "",
			]),
		),
		// A check that waits for a node or an image is made anew when people correct that.
		checkTemplate,
	};
	return createHash("sha256").update(JSON.stringify(verified)).digest("hex");
}

/** At most 63 characters, the limit of a Job's name, as a Destination's has at most 40. */
export function checkName(destination: string, hash: string): string {
	return `${destination}-check-${hash.slice(0, 16)}`;
}

/** Whether a Job is a check that the operator started for this Destination. */
export function isCheckOf({ metadata }: Destination, job: Job): boolean {
	const prefix = checkName(metadata.name, "");
	const { name } = job.metadata;
	return (
		isControlledBy(job, metadata.uid) &&
		name.startsWith(prefix) &&
		// Earlier versions took 8 digits.
		/^[0-9a-f]{8,16}$/.test(name.slice(prefix.length))
	);
}

export function checkOf(
	destination: Destination,
	{ input, ...access }: WarehouseAccess,
	hash: string,
	image: string,
): DestinationCheck {
	const { name, namespace } = destination.metadata;
	const jobName = checkName(name, hash);
	const checkInput: CheckInput = {
		version: 1,
		account: namespace!,
		destination: input,
	};
	const check = jobWithInput(
		{
			kind: destinationKind,
			owner: destination,
			jobName,
			secretName: jobName,
			labels: { ...managedByTidemill, [label.destination]: name },
		},
		checkInput,
		{
			command: "check",
			image,
			...access,
			...(destination.spec.checkTemplate && {
				pod: destination.spec.checkTemplate,
			}),
			// The controller repeats a failed check, and shows each result.
			retries: 0,
			activeDeadlineSeconds: checkDeadlineSeconds,
		},
	);
	return { ...check, hash };
}
