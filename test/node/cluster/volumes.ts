import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Kubectl } from "../../../local/servers/resources.ts";
import { nodeName } from "./addresses.ts";

const count = 24;

/**
 * Makes folders that claims of the default storage class get as volumes.
 * https://kubernetes.io/docs/concepts/storage/volumes/#local
 */
export async function makeVolumes(
	kubectl: Kubectl,
	directory: string,
): Promise<void> {
	const numbers = Array.from({ length: count }, (_, number) => number);
	const volumes = numbers.map((number) => ({
		apiVersion: "v1",
		kind: "PersistentVolume",
		metadata: { name: `local-${number}` },
		spec: {
			storageClassName: "local",
			capacity: { storage: "100Gi" },
			accessModes: ["ReadWriteOnce"],
			persistentVolumeReclaimPolicy: "Retain",
			local: { path: join(directory, String(number)) },
			nodeAffinity: {
				required: {
					nodeSelectorTerms: [
						{
							matchExpressions: [
								{
									key: "kubernetes.io/hostname",
									operator: "In",
									values: [nodeName],
								},
							],
						},
					],
				},
			},
		},
	}));
	for (const { spec } of volumes)
		await mkdir(spec.local.path, { recursive: true });
	const file = join(directory, "volumes.json");
	const list = { apiVersion: "v1", kind: "List", items: volumes };
	await writeFile(file, JSON.stringify(list));
	await kubectl("apply", "--server-side", `--filename=${file}`);
}
