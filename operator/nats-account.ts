import { annotation } from "../crds/labels.ts";
import type { KubeClient } from "../packages/kube/client/client.ts";
import { kinds } from "../packages/kube/kinds.ts";
import type { ObjectKey } from "../packages/kube/resource.ts";
import type { Logger } from "../packages/service/log.ts";

/** Says on the operator's Lease whether NATS lacks the operator's account: `tidemill doctor` reads what Kubernetes has. Never throws. */
export async function noteAccount(
	client: KubeClient,
	{ namespace, name }: ObjectKey,
	isOwn: boolean,
	log: Logger,
): Promise<void> {
	try {
		const lease = await client.get(kinds.lease, name, namespace);
		const noted = lease?.metadata.annotations?.[annotation.natsAccount];
		const wanted = isOwn ? undefined : "shared";
		if (!lease || noted === wanted) return;
		const annotations = { [annotation.natsAccount]: wanted ?? null };
		await client.patch(
			kinds.lease,
			name,
			namespace,
			{ metadata: { annotations } },
			"merge",
		);
	} catch (err) {
		log.warn({ err }, "the Lease can't say whether NATS lacks an account");
	}
}
