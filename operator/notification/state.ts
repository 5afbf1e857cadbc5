import type { Pipeline, Source } from "../../crds/generated/types.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import type { SecretSealer } from "../../packages/service/seal-key.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { readSecret, recallSecret } from "../reconcile/secret-ref.ts";
import type { NotificationState } from "./condition.ts";
import type { NotificationOutbox } from "./outbox.ts";
import { webhookSecretsOf, webhooksOf } from "./webhooks.ts";

/** What the controllers tell people's webhooks with. */
export interface NotificationMeans {
	outbox: NotificationOutbox;
	sealKey: SecretSealer | undefined;
}

export async function readNotifications(
	context: Pick<OperatorContext, "client" | "informers"> & NotificationMeans,
	resource: Pipeline | Source,
): Promise<NotificationState> {
	const { sealKey, outbox } = context;
	const namespace = resource.metadata.namespace!;
	const isNamed = resource.spec.notify?.secretRefs !== undefined;
	const secrets = new Map<string, Secret | undefined>();
	for (const name of webhookSecretsOf(resource))
		secrets.set(
			name,
			isNamed
				? await readSecret(context, namespace, name)
				: // Most namespaces have none, which is nothing to ask the apiserver about.
					recallSecret(context, namespace, name),
		);
	const webhooks = webhooksOf(resource, (name) => secrets.get(name), sealKey);
	return { webhooks, deliveries: outbox.deliveriesOf(resource, webhooks) };
}
