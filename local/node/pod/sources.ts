import { setTimeout as delay } from "node:timers/promises";
import {
	ApiError,
	type KubeClient,
} from "../../../packages/kube/client/client.ts";
import { kinds, type Pod } from "../../../packages/kube/kinds.ts";
import { backoffMs } from "../../../packages/service/backoff.ts";

/** What the volumes of one Pod may refer to, in the Pod's namespace. */
export interface Sources {
	/** The values of a Secret by key; undefined when there is no such Secret. */
	secret(name: string): Promise<Record<string, Buffer> | undefined>;
	claimExists(name: string): Promise<boolean>;
}

/**
 * A container can't start because something it refers to is missing. The Pod waits with the reason
 * `CreateContainerConfigError` and this message, and the start is retried.
 */
export class ConfigError extends Error {
	override name = "ConfigError";
}

/** Reads the sources from the apiserver. Throws {@link ConfigError} when the node may not read them. */
export function sourcesOf(
	client: Pick<KubeClient, "get">,
	{ metadata }: Pod,
	wait: (ms: number) => Promise<unknown> = delay,
): Sources {
	const { namespace } = metadata;
	return {
		secret: async (name) => {
			const secret = await readable(
				() => client.get(kinds.secret, name, namespace),
				wait,
			);
			return secret && decoded(secret.data);
		},
		claimExists: async (name) =>
			(await readable(
				() => client.get(kinds.persistentVolumeClaim, name, namespace),
				wait,
			)) !== undefined,
	};
}

/**
 * Just after the binding the Node authorizer may not yet know that the Pod is ours, and refuses for a moment. That is no news
 * to anybody, so the first refusals aren't told.
 */
async function readable<T>(
	read: () => Promise<T>,
	wait: (ms: number) => Promise<unknown>,
): Promise<T> {
	for (let refusals = 1; ; refusals++)
		try {
			return await read();
		} catch (error) {
			if (!(error instanceof ApiError) || error.status !== 403) throw error;
			if (refusals > quietRefusals) throw new ConfigError(error.message);
			await wait(backoffMs(refusals, refusalBackoff));
		}
}

const quietRefusals = 4;
const refusalBackoff = { baseMs: 100, maxMs: 1_000 };

function decoded(data: Record<string, string> = {}): Record<string, Buffer> {
	return Object.fromEntries(
		Object.entries(data).map(([key, value]) => [
			key,
			Buffer.from(value, "base64"),
		]),
	);
}
