import { expect, test } from "vitest";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import { readSecret } from "./secret-ref.ts";

const secrets = {
	get: () => undefined,
	settled: async () => undefined,
	isUnread: () => false,
};
const informers = { secrets } as unknown as Parameters<
	typeof readSecret
>[0]["informers"];

/** An apiserver with one Secret, which notes what it showed whole. */
function apiserver(labels?: Record<string, string>) {
	const secret = {
		metadata: { name: "s", namespace: "shop", ...(labels && { labels }) },
		data: { password: "cGFzcw==" },
	};
	const shown: unknown[] = [];
	const show = (metadataOnly: boolean | undefined) => {
		if (metadataOnly) return { metadata: secret.metadata };
		shown.push(secret.data);
		return secret;
	};
	const client = {
		get: async (
			_kind: unknown,
			_name: string,
			_namespace: string,
			options: { metadataOnly?: boolean } = {},
		) => show(options.metadataOnly),
		list: async (
			_kind: unknown,
			options: { labelSelector?: string; metadataOnly?: boolean },
		) => {
			const [name, value] = (options.labelSelector ?? "").split("=");
			const matches = !name || secret.metadata.labels?.[name] === value;
			return {
				metadata: {},
				items: matches ? [show(options.metadataOnly)] : [],
			};
		},
	};
	return { client: client as unknown as KubeClient, shown };
}

test("of a Secret without the label that memory lacks, only the metadata is read", async () => {
	const { client, shown } = apiserver({ "tidemill.dev/use": "false" });
	const secret = await readSecret({ client, informers }, "shop", "s");
	expect(secret?.metadata.name).toBe("s");
	expect(secret?.data).toBeUndefined();
	expect(shown).toEqual([]);
});

test("a Secret with the label that memory lacks is read", async () => {
	const { client } = apiserver({ "tidemill.dev/use": "true" });
	const secret = await readSecret({ client, informers }, "shop", "s");
	expect(secret?.data).toEqual({ password: "cGFzcw==" });
});
