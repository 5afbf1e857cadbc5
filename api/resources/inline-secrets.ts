import { label } from "../../crds/labels.ts";
import {
	ApiError,
	hasReason,
	type KubeClient,
} from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import type { InlineSecret } from "./secret-fields.ts";

interface Place {
	client: KubeClient;
	account: string;
}

/**
 * Makes the Secrets that a write refers to and then does the write; `rehearse` is the same as a dry run, so that nothing
 * is made for a write that will be refused. When it is refused all the same, the Secrets are removed again; when its
 * outcome is unknown they stay, since it may have been done.
 */
export async function withSecrets<T>(
	place: Place,
	secrets: InlineSecret[],
	rehearse: () => Promise<unknown>,
	write: () => Promise<T>,
): Promise<T> {
	if (secrets.length === 0) return write();
	await rehearse();
	try {
		for (const { name, values } of secrets)
			await place.client.create(
				kinds.secret,
				{
					metadata: {
						name,
						namespace: place.account,
						labels: { [label.use]: "true" },
					},
					immutable: true,
					stringData: values,
				},
				{ fieldManager: "tidemill-api" },
			);
		return await write();
	} catch (error) {
		if (error instanceof ApiError)
			await removeSecrets(
				place,
				secrets.map(({ name }) => name),
			);
		throw error;
	}
}

/** Removes Secrets that nothing refers to any more. Who may not delete Secrets leaves them behind, and is not stopped by that. */
export async function removeSecrets(
	{ client, account }: Place,
	names: string[],
): Promise<void> {
	for (const name of names)
		try {
			await client.delete(kinds.secret, name, account);
		} catch (error) {
			if (!hasReason(error, "Forbidden")) throw error;
		}
}
