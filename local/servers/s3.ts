import { answersOk, type ChildProgram } from "../machine/program.ts";

export const s3Region = "us-east-1";

/** An S3 gateway over a folder (versitygw with the posix backend, which needs extended attributes). */
export function s3(settings: {
	command: string;
	port: number;
	/** Each of its folders is a bucket. */
	directory: string;
	accessKeyId: string;
	secretAccessKey: string;
	/** A bucket is also served at `<bucket>.<this name>`, on any port. */
	virtualDomain?: string;
}): ChildProgram {
	const { virtualDomain } = settings;
	const endpoint = `127.0.0.1:${settings.port}`;
	return {
		name: "s3",
		command: settings.command,
		args: [
			"--port",
			endpoint,
			"--health",
			"/health",
			"--region",
			s3Region,
			"--quiet",
			"--keep-alive",
			...(virtualDomain ? ["--virtual-domain", virtualDomain] : []),
			"posix",
			settings.directory,
		],
		env: {
			ROOT_ACCESS_KEY: settings.accessKeyId,
			ROOT_SECRET_KEY: settings.secretAccessKey,
		},
		isReady: () => answersOk(`http://${endpoint}/health`),
		stopTimeoutMs: 5_000,
	};
}
