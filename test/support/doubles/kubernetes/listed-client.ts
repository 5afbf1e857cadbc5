import type { KubeClient } from "../../../../packages/kube/client/client.ts";
import type {
	KubeObject,
	ResourceKind,
} from "../../../../packages/kube/resource.ts";

/** An apiserver that has these objects, by the plural of their kind, in which nothing ever changes. */
export function listedClient(objects: Record<string, KubeObject[]>) {
	return {
		list: async ({ plural }: ResourceKind<KubeObject>) => ({
			items: objects[plural] ?? [],
			metadata: { resourceVersion: "1" },
		}),
		watch: async function* (
			_: unknown,
			{ signal }: { signal: AbortSignal },
		): AsyncGenerator<never> {
			await new Promise((resolve) =>
				signal.addEventListener("abort", resolve, { once: true }),
			);
		},
	} as unknown as KubeClient;
}
