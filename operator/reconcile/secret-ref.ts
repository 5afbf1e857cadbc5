import { label } from "../../crds/labels.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import type { Informers } from "./informers.ts";
import { fetchLabelled } from "./named-keys.ts";
import type { HeldSecret } from "./named-secrets.ts";

/** Why the value that a `secretRef` names can't be used. */
export interface SecretFault {
	reason:
		| "SecretNotFound"
		| "SecretNotLabelled"
		| "SecretKeyNotFound"
		| "SecretTooLarge";
	message: string;
}

/**
 * Reads a Secret, of which memory has what resources name. The data is missing if the Secret lacks the label. The apiserver is
 * asked if memory, which lags behind, has no such Secret.
 */
export async function readSecret(
	{ client, informers }: { client: KubeClient; informers: Informers },
	namespace: string,
	name: string,
): Promise<HeldSecret | undefined> {
	await informers.secrets.settled(namespace, name);
	if (informers.secrets.isUnread(namespace, name))
		throw new Error(`Secret "${name}" couldn't be read yet`);
	return (
		informers.secrets.get(namespace, name) ??
		(await fetchSecret(client, namespace, name))
	);
}

/** As {@link readSecret}, from the apiserver alone. It sends the data only if the Secret has the label at that moment. */
export async function fetchSecret(
	client: KubeClient,
	namespace: string,
	name: string,
): Promise<Secret | undefined> {
	return (
		(await fetchLabelled(client, kinds.secret, { namespace, name })) ??
		client.get(kinds.secret, name, namespace, { metadataOnly: true })
	);
}

/** @param secrets Of one namespace. */
export function secretNamed(
	wanted: string,
	secrets: readonly Secret[],
): Secret | undefined {
	return secrets.find(({ metadata }) => metadata.name === wanted);
}

/**
 * The value under the key that a `secretRef` names.
 * @param secret The Secret of that name, with or without the label; undefined if it doesn't exist.
 * @param ref `field` is the path of the `secretRef`.
 */
export function secretValue(
	secret: HeldSecret | undefined,
	ref: { namespace: string; name: string; key: string; field: string },
): { value: Buffer } | { fault: SecretFault } {
	const { namespace, name, key, field } = ref;
	if (!secret)
		return fault(
			"SecretNotFound",
			`There is no Secret "${name}" in namespace "${namespace}". Create it with the label ${label.use}: "true".`,
		);
	if (secret.metadata.labels?.[label.use] !== "true")
		return fault(
			"SecretNotLabelled",
			`Secret "${name}" lacks the label ${label.use}: "true", so Tidemill does not read it. Run: kubectl label secret ${name} ${label.use}=true -n ${namespace}`,
		);
	const tooLarge = secret.tooLarge?.[key];
	if (tooLarge !== undefined)
		return fault(
			"SecretTooLarge",
			`Key "${key}" of Secret "${name}" ${tooLarge}.`,
		);
	const value = secret.data?.[key];
	if (value === undefined)
		return fault(
			"SecretKeyNotFound",
			`Secret "${name}" has no key "${key}". Add the key, or correct ${field}.key.`,
		);
	return { value: Buffer.from(value, "base64") };
}

function fault(reason: SecretFault["reason"], message: string) {
	return { fault: { reason, message } };
}
