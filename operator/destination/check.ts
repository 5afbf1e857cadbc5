import { createHash } from "node:crypto";
import type { CheckInput } from "../../contracts/job.ts";
import {
	type Destination,
	type DestinationSpec,
	destinationKind,
} from "../../crds/generated/types.ts";
import { label, managedByTidemill } from "../../crds/labels.ts";
import type { Job, Secret } from "../../kube/kinds.ts";
import { controllerReference } from "../../kube/resource.ts";
import { jobSpec } from "../job/template.ts";
import type { Access } from "./access.ts";

/** A check that takes longer waits for something that doesn't come, such as a volume. */
export const checkDeadlineSeconds = 300;

/** The verification of a Destination: a Job, and the Secret with its input, both of one name. */
export interface Check {
	job: Job;
	secret: Secret;
	hash: string;
}

/**
 * Digest of what a check verifies. What is only shown to people is not in it.
 * @param credentials the Secret that the spec names.
 */
export function checkHash(
	{ displayName: _, ...verified }: DestinationSpec,
	credentials?: Secret,
): string {
	const hash = createHash("sha256").update(JSON.stringify(verified));
	const key = verified.bigQuery?.credentials?.secretRef.key;
	if (key !== undefined) hash.update(credentials?.data?.[key] ?? "");
	return hash.digest("hex");
}

export function checkName(destination: string, hash: string): string {
	return `${destination}-check-${hash.slice(0, 8)}`;
}

export function checkOf(
	destination: Destination,
	{ input, ...access }: Access,
	hash: string,
	image: string,
): Check {
	const { name, namespace } = destination.metadata;
	const labels = { ...managedByTidemill, [label.destination]: name };
	const metadata = {
		name: checkName(name, hash),
		namespace: namespace!,
		labels,
		ownerReferences: [controllerReference(destinationKind, destination)],
	};
	const checkInput: CheckInput = {
		version: 1,
		account: namespace!,
		destination: input,
	};
	return {
		hash,
		secret: {
			apiVersion: "v1",
			kind: "Secret",
			metadata,
			stringData: { "input.json": JSON.stringify(checkInput) },
		},
		job: {
			apiVersion: "batch/v1",
			kind: "Job",
			metadata,
			spec: jobSpec({
				command: "check",
				image,
				labels,
				inputSecret: metadata.name,
				...access,
				// The Destination's own backoff repeats a failed check, so that each result is seen.
				retries: 0,
				activeDeadlineSeconds: checkDeadlineSeconds,
			}),
		},
	};
}
