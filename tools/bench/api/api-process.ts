import { freePort } from "../../../local/machine/ports.ts";
import { answersOk } from "../../../local/machine/program.ts";
import { processEnvironment } from "../../../operator/install/process-environment.ts";
import {
	programOf,
	project,
} from "../../../test/support/servers/role-server.ts";
import {
	startServer,
	temporaryDirectory,
} from "../../../test/support/servers/test-server.ts";

/** Starts the API with its container's Node options and a rate limit that the bench doesn't reach. */
export async function startApiProcess(kubeconfig: string, natsUrl: string) {
	const port = await freePort();
	const healthPort = await freePort();
	const server = await startServer(
		{
			name: "api",
			command: process.execPath,
			args: [programOf(project), "api"],
			env: {
				KUBECONFIG: kubeconfig,
				NATS_URL: natsUrl,
				API_PORT: String(port),
				API_RATE_LIMIT: "1000000",
				HEALTH_PORT: String(healthPort),
				LOG_LEVEL: "warn",
				...processEnvironment.api,
			},
			isReady: () => answersOk(`http://127.0.0.1:${healthPort}/readyz`),
			stopTimeoutMs: 5_000,
		},
		await temporaryDirectory("api"),
	);
	return {
		url: `http://127.0.0.1:${port}`,
		pid: () => server.pid,
		stop: () => server.stop(),
	};
}
