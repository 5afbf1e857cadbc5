import { hash } from "node:crypto";
import type { KubeObject } from "../../packages/kube/resource.ts";
import { RequestError } from "../http/errors.ts";

/**
 * The generation increases with every change of the spec but not of the status, which changes often. Labels don't change it,
 * and clients may write them.
 */
export function etagOf({ metadata }: KubeObject): string {
	const labels = Object.entries(metadata.labels ?? {}).sort(([a], [b]) =>
		a < b ? -1 : 1,
	);
	if (labels.length === 0) return `"${metadata.generation}"`;
	const digest = hash("sha256", JSON.stringify(labels)).slice(0, 16);
	return `"${metadata.generation}-${digest}"`;
}

/** Throws `PreconditionFailed` if there is an `If-Match` and it lacks the object's ETag (RFC 9110 §13.1.1). */
export function requireMatch(
	ifMatch: string | undefined,
	object: KubeObject,
): void {
	if (isMatch(ifMatch, object)) return;
	throw new RequestError(
		"PreconditionFailed",
		`The resource changed (ETag ${etagOf(object)}). Fetch it and retry.`,
	);
}

export function isMatch(
	ifMatch: string | undefined,
	object: KubeObject,
): boolean {
	if (ifMatch === undefined || ifMatch.trim() === "*") return true;
	const etag = etagOf(object);
	return ifMatch.split(",").some((tag) => tag.trim() === etag);
}
