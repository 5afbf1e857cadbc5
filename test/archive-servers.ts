import { startNats, startS3, type TestNats, type TestS3 } from "./servers.ts";

export interface Servers {
	nats: TestNats;
	s3: TestS3;
	stop(): Promise<void>;
}

/** NATS and an S3 gateway, with the gateway's credentials in the environment, where the SDK finds them. */
export async function startServers(): Promise<Servers> {
	const [nats, s3] = await Promise.all([startNats(), startS3()]);
	process.env.AWS_ACCESS_KEY_ID = s3.accessKeyId;
	process.env.AWS_SECRET_ACCESS_KEY = s3.secretAccessKey;
	return {
		nats,
		s3,
		stop: async () => void (await Promise.all([nats.stop(), s3.stop()])),
	};
}
