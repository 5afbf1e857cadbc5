import type { KubeObject } from "../../packages/kube/resource.ts";
import type { Format } from "./format.ts";
import { jsonText } from "./json.ts";

/** Objects as text that programs read: `json` and `yaml` as `kubectl apply` takes them, several as a List. */
export async function objectsText(
	objects: readonly KubeObject[],
	format: Exclude<Format, "table" | "wide">,
	{ asList }: { asList: boolean },
): Promise<string> {
	if (format === "name")
		return objects.map((object) => `${nameOf(object)}\n`).join("");
	const shown = objects.map(withoutManagedFields);
	const value = asList
		? { apiVersion: "v1", kind: "List", items: shown }
		: shown[0];
	if (format === "json") return `${jsonText(value, 2)}\n`;
	// yaml: writes YAML 1.2. Loaded late, because it costs every other command.
	const { stringify } = await import("yaml");
	return stringify(value, { lineWidth: 0 });
}

/** As kubectl names it: `source/shop`. */
export function nameOf({ kind = "", metadata }: KubeObject): string {
	return `${kind.toLowerCase()}/${metadata.name}`;
}

/** Who wrote which field is as long as the rest. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
	const { managedFields: _, ...metadata } = object.metadata;
	return { ...object, metadata };
}
