import { label } from "../../crds/labels.ts";
import { ApiError, hasReason } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import { type Caller, writeOptions } from "../http/operation.ts";
import type { InlineSecret } from "./secret-fields.ts";

type Account = Pick<Caller, "client" | "account">;

/**
 * Creates the Secrets that a write refers to, then writes. `rehearse` is the write as a dry run, so that a refused write
 * creates no Secrets. If the apiserver refuses the real write, the Secrets are removed; if the outcome is unknown, they
 * stay, because the write may have succeeded.
 */
export async function withSecrets<T>(
	{ client, account }: Account,
	secrets: InlineSecret[],
	rehearse: () => Promise<unknown>,
	write: () => Promise<T>,
): Promise<T> {
	if (secrets.length === 0) return write();
	await rehearse();
	try {
		for (const { name, values } of secrets)
			await client.create(
				kinds.secret,
				{
					metadata: {
						name,
						namespace: account,
						labels: { [label.use]: "true" },
					},
					immutable: true,
					stringData: values,
				},
				writeOptions,
			);
		return await write();
	} catch (error) {
		if (error instanceof ApiError)
			await removeSecrets(
				{ client, account },
				secrets.map(({ name }) => name),
			);
		throw error;
	}
}

/** Removes unreferenced Secrets. If the caller may not delete Secrets, they stay, and the request still succeeds. */
export async function removeSecrets(
	{ client, account }: Account,
	names: string[],
): Promise<void> {
	for (const name of names)
		try {
			await client.delete(kinds.secret, name, account);
		} catch (error) {
			if (!hasReason(error, "Forbidden")) throw error;
		}
}
