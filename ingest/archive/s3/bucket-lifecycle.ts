import {
	DeleteBucketLifecycleCommand,
	GetBucketLifecycleConfigurationCommand,
	type LifecycleRule,
	PutBucketLifecycleConfigurationCommand,
	type S3Client,
} from "@aws-sdk/client-s3";
import { nameOf, statusOf } from "./store-error.ts";

export async function readLifecycleRules(
	client: S3Client,
	Bucket: string,
	abortSignal: AbortSignal,
): Promise<LifecycleRule[] | "forbidden"> {
	try {
		const { Rules = [] } = await client.send(
			new GetBucketLifecycleConfigurationCommand({ Bucket }),
			{ abortSignal },
		);
		return Rules;
	} catch (error) {
		if (nameOf(error) === "NoSuchLifecycleConfiguration") return [];
		if (statusOf(error) === 403) return "forbidden";
		throw error;
	}
}

export async function writeLifecycleRules(
	client: S3Client,
	Bucket: string,
	Rules: LifecycleRule[],
	abortSignal: AbortSignal,
): Promise<void> {
	// A configuration has at least one rule (S3 API, PutBucketLifecycleConfiguration).
	const command =
		Rules.length === 0
			? new DeleteBucketLifecycleCommand({ Bucket })
			: new PutBucketLifecycleConfigurationCommand({
					Bucket,
					LifecycleConfiguration: { Rules },
				});
	await client.send(command, { abortSignal });
}
