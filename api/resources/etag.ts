import type { KubeObject } from "../../kube/resource.ts";
import { RequestError } from "../errors.ts";

/** The generation: it rises with every change of the spec and not with the status, which changes all the time. */
export function etagOf({ metadata }: KubeObject): string {
	return `"${metadata.generation}"`;
}

/** Throws `PreconditionFailed` unless the object is one that `If-Match` names (RFC 9110 §13.1.1), or there is none. */
export function requireMatch(
	ifMatch: string | undefined,
	object: KubeObject,
): void {
	if (ifMatch === undefined || ifMatch.trim() === "*") return;
	const etag = etagOf(object);
	if (ifMatch.split(",").some((one) => one.trim() === etag)) return;
	throw new RequestError(
		"PreconditionFailed",
		`It was changed meanwhile: its ETag is ${etag}, which If-Match doesn't name. Get it again, and change what you find then.`,
	);
}
