import { isDeepStrictEqual } from "node:util";
import { linesForTerminal } from "../../escapes/terminal.ts";
import type { KubeClient } from "../client/client.ts";
import type { KubeObject, ResourceKind } from "../resource.ts";
import { cutToLength } from "../text.ts";

/**
 * Writes an object's whole status by server-side apply, if it differs from what was read. Returns the resulting object.
 * A text that is longer than a condition's message may be is cut, since the apiserver would refuse the whole status. A message
 * writes nothing to the terminals on which people read it: strangers choose some of its text.
 * When the object has changed since it was read, this throws KubeApiError `Conflict` and writes nothing: a status computed from
 * an old state never replaces a newer one.
 */
export async function writeStatus<T extends KubeObject & { status?: unknown }>(
	client: KubeClient,
	kind: ResourceKind<T>,
	object: T,
	status: NonNullable<T["status"]>,
	fieldManager: string,
): Promise<T> {
	// JSON drops fields that are undefined.
	const next: unknown = JSON.parse(
		JSON.stringify(status, (field, value) => {
			if (typeof value !== "string") return value;
			const text = field === "message" ? linesForTerminal(value) : value;
			return cutToLength(text, maxTextLength);
		}),
	);
	if (isDeepStrictEqual(next, object.status ?? {})) return object;
	const { namespace, name, resourceVersion } = object.metadata;
	const metadata = {
		name,
		...(namespace && { namespace }),
		...(resourceVersion && { resourceVersion }),
	};
	return client.applyStatus<T>(
		kind,
		{ metadata, status: next },
		{ fieldManager },
	);
}

/** The longest message of a metav1.Condition (KEP-1623), in characters. */
const maxTextLength = 32_768;
