import { expect, test } from "vitest";
import { KubeApiError } from "../../packages/kube/client/client.ts";
import { ConfigError, sourcesOf } from "./volumes.ts";

const refusal = `secrets "input" is forbidden: User "system:node:local" cannot get resource "secrets" in API group "" in the namespace "shop": no relationship found between node 'local' and this object`;

/** An apiserver whose Node authorizer learns of the Pod after some refusals. */
function sourcesAfter(refusals: number) {
	const secret = {
		metadata: { name: "input" },
		data: { key: Buffer.from("value").toString("base64") },
	};
	const get = async () => {
		if (refusals-- > 0)
			throw new KubeApiError(403, {
				kind: "Status",
				reason: "Forbidden",
				message: refusal,
			});
		return secret as never;
	};
	const pod = { metadata: { name: "check", namespace: "shop" } };
	return sourcesOf({ get }, pod, async () => {});
}

test("refusals just after the binding are reported to nobody", async () => {
	const read = await sourcesAfter(4).secret("input");
	expect(read?.key?.toString()).toBe("value");
});

test("a refusal that stays is reported", async () => {
	const error = new ConfigError(refusal);
	await expect(sourcesAfter(9).secret("input")).rejects.toThrow(error);
});
