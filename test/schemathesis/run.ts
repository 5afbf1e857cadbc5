import { spawn } from "node:child_process";
import { join } from "node:path";
import { connect } from "@nats-io/transport-node";
import { NatsRateCounter } from "../../api/caller/rate-counter.ts";
import { NatsIdempotencyStore } from "../../api/idempotency/nats-store.ts";
import { createApi } from "../../api/server.ts";
import {
	type Destination,
	destinationKind,
	type Operation,
	operationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { KubeClient } from "../../kube/client/client.ts";
import { loadCluster } from "../../kube/client/cluster.ts";
import { loadKubeConfig } from "../../kube/client/kube-config.ts";
import { tokenClients } from "../../kube/client/token-clients.ts";
import type { KubeObject, ResourceKind } from "../../kube/resource.ts";
import { Informer } from "../../kube/watch/informer.ts";
import { createLog } from "../../service/log.ts";
import { pythonEnvironment } from "../support/servers/python.ts";
import { startControlPlane, startNats } from "../support/servers/servers.ts";

/*
 * `make schemathesis`: requests made from the OpenAPI document, and answers judged by it, against the real apiserver with
 * RBAC on (https://schemathesis.readthedocs.io). What is installed for it stays in the cache. Further arguments are
 * handed on to schemathesis.
 */
const version = "4.32.5";
const account = "fuzz";

process.env.LOG_LEVEL ??= "error";
const log = createLog("schemathesis");
const stop = new AbortController();
const bin = await pythonEnvironment(`schemathesis-${version}`, [
	`schemathesis==${version}`,
]);
const program = join(bin, "schemathesis");
const controlPlane = await startControlPlane();
const nats = await startNats();
try {
	process.exitCode = await fuzz(await serve());
} finally {
	stop.abort();
	await nats.stop();
	await controlPlane.stop();
}
// Connections to servers that are gone.
process.exit();

async function serve(): Promise<{ url: string; token: string }> {
	const { kubectl } = controlPlane;
	const roles = join(import.meta.dirname, "../../deploy/roles.yaml");
	await kubectl("apply", `--filename=${roles}`);
	await kubectl("create", "namespace", account);
	await kubectl("create", "serviceaccount", "editor", "-n", account);
	await kubectl(
		...["create", "rolebinding", "editor", "-n", account],
		...["--clusterrole=tidemill-editor", `--serviceaccount=${account}:editor`],
	);
	const token = await kubectl("create", "token", "editor", "-n", account);
	const config = loadKubeConfig(controlPlane.kubeconfig);
	actForOperator(KubeClient.fromConfig(config));

	const { host, username, password } = new URL(nats.urlFor("api"));
	const connected = await connect({
		servers: host,
		user: username,
		pass: password,
		inboxPrefix: "_INBOX_api",
	});
	const shared = { connection: () => connected, replicas: 1 };
	const api = createApi({
		clientFor: tokenClients(loadCluster(controlPlane.kubeconfig)),
		rateLimit: {
			limit: 10_000_000,
			windowMs: 60_000,
			shared: new NatsRateCounter(shared),
		},
		idempotency: new NatsIdempotencyStore(shared),
		log,
		stopping: stop.signal,
	});
	const url = await api.listen({ host: "127.0.0.1", port: 0 });
	return { url, token: token.trim() };
}

/** In the operator's place: answers wait for its verdict, for a new source's URL, and for the end of a run. */
function actForOperator(admin: KubeClient): void {
	const follow = <T extends Judged>(
		kind: ResourceKind<T>,
		facts: T["status"],
	) => {
		const informer = new Informer<T>(admin, kind, {
			namespaces: [account],
			log,
		});
		informer.onChange(({ metadata, status: known }) => {
			const observedGeneration = metadata.generation!;
			if (known?.observedGeneration === observedGeneration) return;
			const { name } = metadata;
			void admin
				.applyStatus<T>(
					kind,
					{
						metadata: { name, namespace: account },
						status: { ...facts, observedGeneration },
					},
					{ fieldManager: "fuzz" },
				)
				// Deleted meanwhile.
				.catch(() => undefined);
		});
		void informer.run(stop.signal);
	};
	follow<Source>(sourceKind, {
		phase: "Active",
		webhookURL: "https://hooks.example/1/2",
	});
	follow<Destination>(destinationKind, { phase: "Ready" });
	follow<Pipeline>(pipelineKind, { phase: "Ready" });
	follow<Operation>(operationKind, { phase: "Succeeded" });
	follow<TrackingPlan>(trackingPlanKind, {});
	follow<Run>(runKind, {
		phase: "Succeeded",
		rows: 329,
		completionTime: "2026-01-01T00:00:00Z",
	});
}

type Judged = KubeObject & { status?: { observedGeneration?: number } };

async function fuzz({ url, token }: { url: string; token: string }) {
	return done(program, [
		...["--config-file", join(import.meta.dirname, "schemathesis.toml")],
		...["run", `${url}/v1/openapi.json`, "--checks=all"],
		...["--header", `Authorization: Bearer ${token}`],
		// Any other would make every answer a 403.
		...["--header", `Tidemill-Account: ${account}`],
		...process.argv.slice(2),
	]);
}

function done(command: string, args: string[]): Promise<number> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, { stdio: "inherit" });
		child.once("error", reject);
		child.once("close", (code) => resolve(code ?? 1));
	});
}
