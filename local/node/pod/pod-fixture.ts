import type { Pod } from "../../../packages/kube/kinds.ts";
import type { ObjectMeta } from "../../../packages/kube/resource.ts";
import type { PodSpec, PodStatus } from "./pod-spec.ts";
import type { Sources } from "./sources.ts";

/** For tests: a Pod that the process node can run. */
export function pod(
	metadata: Partial<ObjectMeta> = {},
	spec: Partial<PodSpec> = {},
	status?: PodStatus,
): Pod {
	return {
		metadata: { name: "p", namespace: "default", uid: "u", ...metadata },
		spec: {
			restartPolicy: "Never",
			containers: [{ name: "main", image: "ours", command: ["tidemill"] }],
			...spec,
		},
		...(status && { status }),
	};
}

/** For tests: Secrets by name, with their values as text. */
export function sources(
	secrets: Record<string, Record<string, string>>,
): Sources {
	return {
		secret: async (name) => {
			const texts = secrets[name];
			return (
				texts &&
				Object.fromEntries(
					Object.entries(texts).map(([key, text]) => [key, Buffer.from(text)]),
				)
			);
		},
		claimExists: async () => true,
	};
}
