import { ApiError, type KubeClient } from "../../kube/client/client.ts";
import { kinds, type Pod } from "../../kube/kinds.ts";
import { ConfigError } from "./config-error.ts";

/** What the containers of one Pod may refer to, in the Pod's namespace. Each is read at most once per start. */
export interface Sources {
	/** The values of a Secret or ConfigMap by key; undefined when there is no such object. */
	values(kind: "Secret" | "ConfigMap", name: string): Promise<Values>;
	/** A new token of the Pod's service account. It ends with the Pod; nobody renews it. */
	serviceAccountToken(
		audience: string | undefined,
		expirationSeconds: number | undefined,
	): Promise<string>;
	claimExists(name: string): Promise<boolean>;
}

export type Values = Record<string, Buffer> | undefined;

/** Sources as the apiserver has them. What may not be read is a {@link ConfigError}. */
export function sourcesOf(client: KubeClient, pod: Pod): Sources {
	const namespace = pod.metadata.namespace!;
	const read = new Map<string, Promise<Values>>();
	const readValues = async (kind: "Secret" | "ConfigMap", name: string) => {
		if (kind === "Secret") {
			const secret = await client.get(kinds.secret, name, namespace);
			return secret && decoded(secret.data, "base64");
		}
		const configMap = await client.get(kinds.configMap, name, namespace);
		return (
			configMap && {
				...decoded(configMap.data, "utf8"),
				...decoded(configMap.binaryData, "base64"),
			}
		);
	};
	return {
		values: (kind, name) => {
			const key = `${kind}/${name}`;
			const values = read.get(key) ?? readable(readValues(kind, name));
			read.set(key, values);
			return values;
		},
		claimExists: async (name) =>
			(await readable(
				client.get(kinds.persistentVolumeClaim, name, namespace),
			)) !== undefined,
		serviceAccountToken: (audience, expirationSeconds) =>
			readable(requestToken(client, pod, audience, expirationSeconds)),
	};
}

/** Right after the binding the Node authorizer may not know yet that the Pod is ours: it refuses for a moment. */
async function readable<T>(reading: Promise<T>): Promise<T> {
	try {
		return await reading;
	} catch (error) {
		if (error instanceof ApiError && [403, 404].includes(error.status))
			throw new ConfigError(error.message);
		throw error;
	}
}

/** TokenRequest (authentication.k8s.io/v1), bound to the Pod as the Node authorizer demands. */
async function requestToken(
	client: KubeClient,
	{ metadata, spec }: Pod,
	audience: string | undefined,
	expirationSeconds = 3600,
): Promise<string> {
	const account = spec?.serviceAccountName ?? "default";
	const answer = (await client.raw(
		"POST",
		`/api/v1/namespaces/${metadata.namespace}/serviceaccounts/${account}/token`,
		{
			body: {
				apiVersion: "authentication.k8s.io/v1",
				kind: "TokenRequest",
				spec: {
					audiences: audience === undefined ? [] : [audience],
					expirationSeconds,
					boundObjectRef: {
						apiVersion: "v1",
						kind: "Pod",
						name: metadata.name,
						uid: metadata.uid,
					},
				},
			},
		},
	)) as { status: { token: string } };
	return answer.status.token;
}

function decoded(
	data: Record<string, string> | undefined,
	encoding: "base64" | "utf8",
): Record<string, Buffer> {
	return Object.fromEntries(
		Object.entries(data ?? {}).map(([key, value]) => [
			key,
			Buffer.from(value, encoding),
		]),
	);
}
