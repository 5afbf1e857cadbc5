import { randomBytes } from "node:crypto";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { inject } from "vitest";
import type { Route } from "../contracts/route.ts";
import { KubeClient } from "../operator/kube/client.ts";
import { kinds } from "../operator/kube/kinds.ts";
import { loadKubeConfig } from "../operator/kube/kube-config.ts";
import type { KubeObject, ResourceKind } from "../operator/kube/resource.ts";
import { createLog } from "../service/log.ts";
import { connectNats } from "../service/nats.ts";
import { Settings } from "../service/settings.ts";
import { kubectlDone } from "./kubectl.ts";
import { startNats, type TestNats } from "./servers.ts";
import { startTidemill, type TidemillProcess } from "./tidemill-process.ts";

/** No test's operator loses its lease because the machine is busy. */
export const longLease = { LEASE_DURATION_SECONDS: "300" };
/** For one that is to take over soon: it looks at the other's lease every eight seconds, and keeps its own for forty. */
export const steadyLease = { LEASE_DURATION_SECONDS: "60" };

/** The operator as a process of its own, with a NATS of its own, in namespaces that it has to itself. */
export interface OperatorFixture {
	client: KubeClient;
	nats: TestNats;
	/** As NATS's administrator. */
	connection: NatsConnection;
	/** Two accounts. */
	namespaces: [string, string];
	startOperator(): void;
	/** SIGKILL; settles when it is gone. Its lease is given up for it, so that the next one needn't wait. */
	killOperator(): Promise<void>;
	/** Its exit code, when it has ended by itself. */
	operatorEnded(): Promise<number | null>;
	/** SIGTERM; resolves with its exit code when it has ended. */
	stopOperator(): Promise<number | null>;
	stop(): Promise<void>;
}

/** @param env settings beside those that name the servers. */
export async function startOperatorFixture(
	env: Record<string, string> = {},
): Promise<OperatorFixture> {
	const kubeconfig = inject("kubeconfig");
	const client = KubeClient.fromConfig(loadKubeConfig(kubeconfig));
	const suffix = randomBytes(4).toString("hex");
	const namespaces: [string, string] = [`a-${suffix}`, `b-${suffix}`];
	for (const name of namespaces)
		await client.create(kinds.namespace, { metadata: { name } });
	const nats = await startNats();
	const connection = await connectNats(
		new Settings({ NATS_URL: nats.url }),
		"admin",
		createLog("test"),
	);
	let operator: TidemillProcess | undefined;
	const fixture: OperatorFixture = {
		client,
		nats,
		connection,
		namespaces,
		startOperator: () => {
			operator = startTidemill(["operator"], {
				KUBECONFIG: kubeconfig,
				NATS_URL: nats.urlFor("operator"),
				TIDEMILL_RECEIVE_URL: "https://in.example/",
				TIDEMILL_IMAGE: "tidemill.local/tidemill:test",
				WATCH_NAMESPACES: namespaces.join(","),
				LEASE_NAMESPACE: namespaces[0],
				HEALTH_PORT: "0",
				LOG_LEVEL: "warn",
				...longLease,
				...env,
			});
			operator.onLine = (line) => process.stderr.write(`${line}\n`);
		},
		killOperator: async () => {
			operator?.child.kill("SIGKILL");
			await operator?.ended;
			await client.delete(kinds.lease, "tidemill-operator", namespaces[0]);
		},
		operatorEnded: async () => (await operator?.ended)?.exitCode ?? null,
		stopOperator: () => {
			operator?.child.kill("SIGTERM");
			return fixture.operatorEnded();
		},
		stop: async () => {
			await fixture.stopOperator();
			await connection.close();
			await nats.stop();
		},
	};
	return fixture;
}

/** What receivers would read: routes by Source name, and whether the bucket is marked as synced. */
export async function routesIn(
	connection: NatsConnection,
): Promise<{ synced: boolean; routes: Record<string, Route> }> {
	const kv = await new Kvm(connection).open("tidemill-routes");
	const routes: Record<string, Route> = {};
	let synced = false;
	for await (const entry of await kv.history())
		if (entry.operation !== "PUT") continue;
		else if (entry.key === "synced") synced = true;
		else routes[entry.json<Route>().source] = entry.json();
	return { synced, routes };
}

/** `kubectl apply` as a person does it. Throws what kubectl says if it refuses. */
export async function applyYaml(
	namespace: string,
	yaml: string,
	kubeconfig = inject("kubeconfig"),
): Promise<void> {
	await kubectlDone(
		[
			"apply",
			`--kubeconfig=${kubeconfig}`,
			`--namespace=${namespace}`,
			"--filename=-",
		],
		yaml,
	);
}

/** Notes of the Events about an object, as `kubectl describe` lists them. */
export async function eventReasons<T extends KubeObject>(
	client: KubeClient,
	kind: ResourceKind<T>,
	namespace: string,
	name: string,
): Promise<string[]> {
	const { items } = await client.list(kinds.event, { namespace });
	return items
		.filter(
			({ regarding }) =>
				regarding?.kind === kind.kind && regarding.name === name,
		)
		.map(({ reason }) => reason!);
}
