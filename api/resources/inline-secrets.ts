import { label, managedByApi } from "../../crds/labels.ts";
import { kinds } from "../../kube/kinds.ts";
import { type Caller, writeOptions } from "../http/operation.ts";
import type { InlineSecret } from "./secret-fields.ts";

/**
 * Creates the Secrets that a write refers to, then writes. `rehearse` is the write as a dry run, so that a refused write
 * creates no Secrets. The caller may not change or delete Secrets, so the operator makes the resource their owner, and
 * removes those that no resource refers to.
 */
export async function withSecrets<T>(
	{ client, account }: Pick<Caller, "client" | "account">,
	secrets: InlineSecret[],
	rehearse: () => Promise<unknown>,
	write: () => Promise<T>,
): Promise<T> {
	if (secrets.length === 0) return write();
	await rehearse();
	for (const { name, values } of secrets)
		await client.create(
			kinds.secret,
			{
				metadata: {
					name,
					namespace: account,
					labels: { ...managedByApi, [label.use]: "true" },
				},
				immutable: true,
				stringData: values,
			},
			writeOptions,
		);
	return write();
}
