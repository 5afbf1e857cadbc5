import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "../client/client.ts";
import type { KubeObject, ResourceKind } from "../resource.ts";

/**
 * Writes an object's whole status, by server-side apply, if it differs from what was read. Returns the object as it
 * is then.
 * The version that was read goes along: when the object has changed since, this throws ApiError `Conflict` and nothing is
 * written, so a status that was thought out over an old state never replaces a newer one.
 */
export async function writeStatus<T extends KubeObject & { status?: unknown }>(
	client: KubeClient,
	kind: ResourceKind<T>,
	object: T,
	status: NonNullable<T["status"]>,
	fieldManager: string,
): Promise<T> {
	// As JSON, in which a field that is undefined is absent.
	const next: unknown = JSON.parse(JSON.stringify(status));
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
