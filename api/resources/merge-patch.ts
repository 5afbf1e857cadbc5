import { isObject, type JsonObject } from "../http/endpoint.ts";

/** JSON Merge Patch (RFC 7396 §2): null removes a member, objects are merged, anything else replaces. Mutates neither. */
export function mergePatch(target: unknown, patch: unknown): unknown {
	if (!isObject(patch)) return patch;
	const merged: JsonObject = { ...(isObject(target) && target) };
	for (const [name, value] of Object.entries(patch))
		if (value === null) delete merged[name];
		else merged[name] = mergePatch(merged[name], value);
	return merged;
}
