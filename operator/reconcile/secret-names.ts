import type {
	Destination,
	Pipeline,
	Source,
} from "../../crds/generated/types.ts";
import { bindingKeys } from "../../packages/warehouses/definition/binding.ts";
import { warehouseOf } from "../../packages/warehouses/registry.ts";
import type { NamedKeys } from "./named-keys.ts";

/** The Secret with the webhook of resources that name none. */
export const defaultWebhookSecret = "tidemill-notifications";

const webhookKeys = ["url", "format", "signingSecret"];
const urlKeys = ["sourceKey", "urlKey", "shard", "shards"];

/** The Secret with a Source's keys, which the operator issues. */
export function keysSecretName(source: string): string {
	return `${source}-webhook-url`;
}

/** Those that a Source's authorization refers to. */
export function authorizationSecrets({ spec }: Source): NamedKeys[] {
	const { customToken, signature } = spec.webhook?.authorization ?? {};
	const publicKey = signature?.custom?.publicKey?.secretRef;
	return [
		...(customToken ? [customToken.secretRef] : []),
		...(signature?.secretRefs ?? []),
		...(publicKey ? [publicKey] : []),
	].map(({ name, key }) => ({ name, keys: [key] }));
}

/** Those whose webhooks a resource calls. */
export function webhookSecrets({ spec, kind }: Pipeline | Source): NamedKeys[] {
	// A Source that doesn't say when it is quiet sends no notifications.
	if (kind === "Source" && !spec.notify) return [];
	const refs = spec.notify?.secretRefs ?? [{ name: defaultWebhookSecret }];
	return refs.map(({ name }) => ({ name, keys: webhookKeys }));
}

/** Those with a Destination's credentials. */
export function credentialSecrets({ spec }: Destination): NamedKeys[] {
	const warehouse = warehouseOf(spec);
	const uses = warehouse?.definition.secrets?.(warehouse.own) ?? [];
	const places = warehouse?.definition.connection ? bindingKeys : [];
	return uses.map(({ name, key, field }) => ({
		name,
		keys: [key, ...(field === "credentials.secretRef" ? places : [])],
	}));
}

/** All that a Source names. */
export function secretsOfSource(source: Source): NamedKeys[] {
	const keys = { name: keysSecretName(source.metadata.name), keys: urlKeys };
	return [keys, ...authorizationSecrets(source), ...webhookSecrets(source)];
}

export function namesIn(secrets: readonly NamedKeys[]): string[] {
	return [...new Set(secrets.map(({ name }) => name))];
}
