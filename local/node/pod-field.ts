import type { Pod } from "../../kube/kinds.ts";

/** Everything on this machine is reached by its loopback address. */
export const hostAddress = "127.0.0.1";

/**
 * A field of a Pod that its containers may read (the downward API), by its path such as `metadata.labels['app']`.
 * Undefined for a path that is none.
 */
export function podField(
	{ metadata, spec }: Pod,
	fieldPath: string,
): string | undefined {
	const subscript = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(
		fieldPath,
	);
	if (subscript) {
		const [, map, key] = subscript as unknown as [
			string,
			"labels" | "annotations",
			string,
		];
		return metadata[map]?.[key] ?? "";
	}
	switch (fieldPath) {
		case "metadata.name":
			return metadata.name;
		case "metadata.namespace":
			return metadata.namespace;
		case "metadata.uid":
			return metadata.uid;
		case "metadata.labels":
			return listed(metadata.labels);
		case "metadata.annotations":
			return listed(metadata.annotations);
		case "spec.nodeName":
			return spec?.nodeName;
		case "spec.serviceAccountName":
			return spec?.serviceAccountName;
		case "status.hostIP":
		case "status.hostIPs":
		case "status.podIP":
		case "status.podIPs":
			return hostAddress;
		default:
			return undefined;
	}
}

/** As kubelet writes a whole map into a file: one `key="value"` a line, sorted. */
function listed(map: Record<string, string> = {}): string {
	return Object.entries(map)
		.map(([key, value]) => `${key}=${JSON.stringify(value)}`)
		.toSorted()
		.join("\n");
}
