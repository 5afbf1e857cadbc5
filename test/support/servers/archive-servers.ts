import { startNats, startS3, type TestNats, type TestS3 } from "./servers.ts";
import { accessStore } from "./store-access.ts";

export interface Servers {
	nats: TestNats;
	s3: TestS3;
	stop(): Promise<void>;
}

/** By what `tidemill archive` finds them. */
export function archiveEnv({
	nats,
	s3,
}: Pick<Servers, "nats" | "s3">): Record<string, string> {
	return {
		NATS_URL: nats.urlFor("archive"),
		S3_ENDPOINT: s3.endpoint,
		S3_BUCKET: s3.bucket,
		AWS_REGION: s3.region,
		AWS_ACCESS_KEY_ID: s3.accessKeyId,
		AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
	};
}

/** NATS and an S3 gateway, with the gateway's credentials in the environment, where the SDK finds them. */
export async function startServers(): Promise<Servers> {
	const [nats, s3] = await Promise.all([startNats(), startS3()]);
	accessStore(s3);
	return {
		nats,
		s3,
		stop: async () => void (await Promise.all([nats.stop(), s3.stop()])),
	};
}
