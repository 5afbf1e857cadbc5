import { label, managedByApi } from "../../crds/labels.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { type Caller, writeOptions } from "../http/endpoint.ts";
import type { InlineSecret } from "./secret-fields.ts";

/**
 * Creates the Secrets that a write refers to, then writes. It first writes as a dry run, so that a refused write
 * creates no Secrets. The caller may not change or delete Secrets, so the operator makes the resource their owner, and
 * removes those that no resource refers to.
 */
export async function withSecrets<T>(
	{ client, account }: Pick<Caller, "client" | "account">,
	secrets: InlineSecret[],
	dryRun: boolean,
	write: (dryRun: boolean) => Promise<T>,
): Promise<T> {
	if (secrets.length === 0) return write(dryRun);
	const rehearsed = await write(true);
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
			{ ...writeOptions, dryRun },
		);
	return dryRun ? rehearsed : write(false);
}
