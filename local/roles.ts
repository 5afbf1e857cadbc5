import { join } from "node:path";
import type { NatsRole } from "../operator/install/nats-users.ts";
import { processEnvironment } from "../operator/install/process-environment.ts";
import { compileCacheDirectory } from "../packages/service/cache.ts";
import { warehouses } from "../packages/warehouses/registry.ts";
import {
	type LocalHome,
	projectDirectory,
	tidemillCommand,
} from "./machine/home.ts";
import type { LocalPorts } from "./machine/ports.ts";
import { answersOk, type ChildProgram } from "./machine/program.ts";
import { readPublicURL } from "./public-url.ts";
import type { Pki } from "./servers/pki.ts";
import { s3Region } from "./servers/s3.ts";

/** The only image whose Pods the process node runs. */
const localImage = "tidemill.local/tidemill:dev";

/** Tidemill's own processes with their settings. */
export function roles(settings: {
	home: LocalHome;
	ports: LocalPorts;
	pki: Pki;
	/** `nats://role:password@…` for each role. */
	natsUrl: (role: NatsRole) => string;
	s3: { bucket: string; accessKeyId: string; secretAccessKey: string };
	/** Path of a user's kubeconfig. */
	kubeconfig: (user: "operator" | "api" | "node" | "scheduler") => string;
}): Record<RoleName, ChildProgram> {
	const { home, ports, pki, natsUrl, kubeconfig } = settings;
	return {
		receive: tidemill("receive", ports.receiveHealth, {
			NATS_URL: natsUrl("receive"),
			RECEIVE_HOST: "127.0.0.1",
			RECEIVE_PORT: String(ports.receive),
			...processEnvironment.receive,
			// No load balancer needs time to notice.
			RECEIVE_SHUTDOWN_DELAY_MS: "0",
			TIDEMILL_SHARDS: "1",
			TIDEMILL_SEAL_KEY: home.sealKey,
		}),
		archive: tidemill("archive", ports.archiveHealth, {
			NATS_URL: natsUrl("archive"),
			S3_ENDPOINT: `http://127.0.0.1:${ports.s3}`,
			S3_BUCKET: settings.s3.bucket,
			S3_FORCE_PATH_STYLE: "true",
			AWS_REGION: s3Region,
			AWS_ACCESS_KEY_ID: settings.s3.accessKeyId,
			AWS_SECRET_ACCESS_KEY: settings.s3.secretAccessKey,
			...processEnvironment.archive,
			ARCHIVE_SHARDS: "0",
			// A person waits for the row.
			ARCHIVE_MAX_AGE_MS: "2000",
			ARCHIVE_LISTS_INTERVAL_MS: "2000",
			ARCHIVE_SCRATCH: join(home.scratch, "archive"),
			STREAM_MAX_BYTES: String(1024 ** 3),
			STREAM_REPLICAS: "1",
		}),
		operator: {
			...tidemill("operator", ports.operatorHealth, {
				NATS_URL: natsUrl("operator"),
				KUBECONFIG: kubeconfig("operator"),
				...processEnvironment.operator,
				// All, as every namespace of the local cluster belongs to the same person.
				WATCH_NAMESPACES: "*",
				LEASE_NAMESPACE: "tidemill-system",
				TIDEMILL_IMAGE: localImage,
				TIDEMILL_SHARDS: "1",
				TIDEMILL_SEAL_KEY: home.sealKey,
				TIDEMILL_LOCAL_WAREHOUSE: home.warehouse,
				...trustedEndpoints(),
			}),
			currentEnv: () => ({
				TIDEMILL_RECEIVE_URL:
					readPublicURL(home) ?? `http://127.0.0.1:${ports.receive}`,
			}),
		},
		api: tidemill("api", ports.apiHealth, {
			NATS_URL: natsUrl("api"),
			KUBECONFIG: kubeconfig("api"),
			API_HOST: "127.0.0.1",
			API_PORT: String(ports.api),
			// Also of a bundled program, which stands elsewhere.
			API_CONSOLE_FILES: join(projectDirectory, "console/dist"),
			API_CONSOLE_SEAL_KEY: home.consoleKey,
			API_CONSOLE_CODES: home.signInCodes,
			...processEnvironment.api,
		}),
		notify: tidemill("notify", ports.notifyHealth, {
			NATS_URL: natsUrl("notify"),
			TIDEMILL_SEAL_KEY: home.sealKey,
			// Whoever runs `make up` tries webhooks out on this machine.
			NOTIFY_ALLOWED_NETWORKS: "127.0.0.0/8,::1/128",
		}),
		node: role(
			"node",
			process.execPath,
			[join(projectDirectory, "local/node/main.ts")],
			ports.nodeHealth,
			{
				KUBECONFIG: kubeconfig("node"),
				// The other roles get it from cli/bin/tidemill.ts.
				NODE_COMPILE_CACHE: compileCacheDirectory(process.env),
				SCHEDULER_KUBECONFIG: kubeconfig("scheduler"),
				TIDEMILL_HOME: home.directory,
				TIDEMILL_IMAGE: localImage,
				TIDEMILL_COMMAND: tidemillCommand(),
				NODE_NAME: "tidemill-local",
				NODE_PORT: String(ports.node),
				NODE_CERT_FILE: pki.nodeServing.certFile,
				NODE_KEY_FILE: pki.nodeServing.keyFile,
				NODE_CLIENT_CA_FILE: pki.ca.certFile,
			},
		),
	};
}

type RoleName = NatsRole | "node";

function tidemill(
	name: NatsRole,
	healthPort: number,
	env: Record<string, string>,
): ChildProgram {
	return role(name, tidemillCommand(), [name], healthPort, env);
}

function role(
	name: RoleName,
	command: string,
	args: string[],
	healthPort: number,
	env: Record<string, string>,
): ChildProgram {
	return {
		name,
		command,
		args,
		env: {
			...env,
			HEALTH_HOST: "127.0.0.1",
			HEALTH_PORT: String(healthPort),
		},
		isReady: () => answersOk(`http://127.0.0.1:${healthPort}/readyz`),
		stopTimeoutMs: 20_000,
	};
}

/** Addresses of warehouses that the person who runs `make up` trusts. */
function trustedEndpoints(): Record<string, string> {
	const settings = [...warehouses.values()].flatMap(
		({ endpoints }) => endpoints?.setting ?? [],
	);
	return Object.fromEntries(
		settings.map((setting) => [setting, process.env[setting] ?? ""]),
	);
}
