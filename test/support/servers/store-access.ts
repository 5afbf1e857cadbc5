import type { ObjectStoreSettings } from "../../../packages/bucket/s3-client.ts";
import type { TestS3 } from "./servers.ts";

/** How the gateway's bucket is reached, with its credentials in the environment, where the SDK finds them. */
export function accessStore(s3: TestS3): ObjectStoreSettings {
	process.env.AWS_ACCESS_KEY_ID = s3.accessKeyId;
	process.env.AWS_SECRET_ACCESS_KEY = s3.secretAccessKey;
	const { bucket, region, endpoint } = s3;
	return { bucket, region, endpoint, forcePathStyle: true };
}
