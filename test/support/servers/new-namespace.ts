import { expect, vi } from "vitest";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { kinds } from "../../../packages/kube/kinds.ts";

/**
 * A namespace in which Pods can be made: they are refused for as long as Kubernetes has not put its ServiceAccount
 * "default" there, which takes a moment.
 */
export async function newNamespace(
	client: KubeClient,
	name: string,
): Promise<void> {
	await client.create(kinds.namespace, { metadata: { name } });
	const path = `/api/v1/namespaces/${name}/serviceaccounts`;
	await vi.waitFor(
		async () =>
			expect(await client.raw("GET", path)).toMatchObject({
				items: [{ metadata: { name: "default" } }],
			}),
		{ timeout: 120_000 },
	);
}
