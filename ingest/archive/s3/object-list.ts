import {
	ListObjectsV2Command,
	type ListObjectsV2CommandInput,
	type S3Client,
} from "@aws-sdk/client-s3";
import type { ListedObject } from "./object-store.ts";

/** The chosen objects, one request to the store for each page. Throws the SDK's errors. */
export async function* listObjects(
	client: S3Client,
	chosen: Omit<ListObjectsV2CommandInput, "ContinuationToken">,
	abortSignal: AbortSignal,
): AsyncGenerator<ListedObject> {
	let token: string | undefined;
	do {
		const page = await client.send(
			new ListObjectsV2Command({ ...chosen, ContinuationToken: token }),
			{ abortSignal },
		);
		for (const { Key, Size, LastModified } of page.Contents ?? [])
			if (Key !== undefined)
				yield {
					key: Key,
					bytes: Size ?? 0,
					// An object of unknown age counts as new.
					modifiedMs: LastModified?.getTime() ?? Infinity,
				};
		token = page.NextContinuationToken;
	} while (token !== undefined);
}
