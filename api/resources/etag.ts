import type { KubeObject } from "../../kube/resource.ts";
import { RequestError } from "../http/errors.ts";

/** The generation: it increases with every change of the spec but not of the status, which changes often. */
export function etagOf({ metadata }: KubeObject): string {
	return `"${metadata.generation}"`;
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
