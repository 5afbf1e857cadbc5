import { processEnvironment } from "../../../operator/install/process-environment.ts";
import type {
	TestNats,
	TestS3,
} from "../../../test/support/servers/servers.ts";
import {
	startTidemill,
	type TidemillProcess,
} from "../../../test/support/servers/tidemill-process.ts";

/** Starts archive with its container's environment plus `env`. Resolves once it archives its shard. */
export async function startArchive(
	nats: TestNats,
	s3: TestS3,
	env: Record<string, string> = {},
): Promise<TidemillProcess> {
	const archive = startTidemill(["archive"], {
		NATS_URL: nats.urlFor("archive"),
		S3_ENDPOINT: s3.endpoint,
		S3_BUCKET: s3.bucket,
		AWS_REGION: s3.region,
		AWS_ACCESS_KEY_ID: s3.accessKeyId,
		AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
		...processEnvironment.archive,
		...env,
	});
	await new Promise<void>((resolve, reject) => {
		archive.onLine = (line) => {
			if (JSON.parse(line).msg === "archiving the shard") resolve();
		};
		void archive.ended.then(({ stderr }) => reject(new Error(stderr)));
	});
	return archive;
}
