import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { NatsConnection } from "@nats-io/transport-node";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { startHealthServer } from "../service/health-server.ts";
import { createLog, type Logger } from "../service/log.ts";
import { connectNats } from "../service/nats.ts";
import { Settings } from "../service/settings.ts";
import { stopSignal } from "../service/stop-signal.ts";
import type { ControllerFactory } from "./context.ts";
import { createDestinationController } from "./destination/controller.ts";
import { createInformers, type Informers } from "./informers.ts";
import { KubeClient } from "./kube/client.ts";
import { EventRecorder } from "./kube/events.ts";
import { loadKubeConfig } from "./kube/kube-config.ts";
import { LeaderElection } from "./kube/lease.ts";
import { LedgerView } from "./ledger-view.ts";
import { createPipelineController } from "./pipeline/controller.ts";
import { RouteTable } from "./routes.ts";
import { createRunController } from "./run/controller.ts";
import { readOperatorSettings } from "./settings.ts";
import { createSourceController } from "./source/controller.ts";
import { createRoutePublisher } from "./source/publisher.ts";

/** Every controller of the operator. */
const controllers: ControllerFactory[] = [
	createRoutePublisher,
	createSourceController,
	createDestinationController,
	createPipelineController,
	createRunController,
];

/** The role `operator`: one process leads, the others stand by with everything in memory. Returns the exit code. */
export async function main(): Promise<number> {
	const env = new Settings();
	const settings = readOperatorSettings(env);
	const kubeConfig = loadKubeConfig(env.optional("KUBECONFIG"));
	const log = createLog("operator");
	const stop = stopSignal();

	const client = KubeClient.fromConfig(kubeConfig, {
		userAgent: "tidemill-operator",
	});
	const informers = createInformers(client, {
		namespaces: settings.watchNamespaces,
		log,
	});
	const registry = new Registry();
	collectDefaultMetrics({ register: registry });
	const leading = new Gauge({
		name: "tidemill_operator_leading",
		help: "1 while this process holds the lease.",
		registers: [registry],
	});
	let nats: NatsConnection | undefined;
	const health = await startHealthServer({
		port: env.integer("HEALTH_PORT", { min: 0, max: 65_535, fallback: 8_081 }),
		host: env.text("HEALTH_HOST", "127.0.0.1"),
		// A process that loses its lease ends at once, and one whose event loop hangs doesn't answer.
		live: () => undefined,
		ready: () => reasonNotReady(nats, informers),
		registry,
	});
	log.info({ healthPort: health.port }, "operator starts");

	const watching = new AbortController();
	const background: Promise<void>[] = [];
	try {
		nats = await connectNats(env, "operator", log, stop);
		void exitWhenClosed(nats, log, stop);
		const ledgers = new LedgerView(nats, log);
		const context = {
			client,
			events: new EventRecorder(client, "tidemill.dev/operator", log),
			informers,
			nats,
			routes: new RouteTable(nats, { replicas: settings.bucketReplicas }),
			ledgers,
			settings,
			log,
		};
		// Before the informers run, so that the loops hear of every object; they act when this process leads.
		const loops = controllers.map((create) => create(context));
		for (const watcher of [...Object.values(informers), ledgers])
			background.push(watcher.run(watching.signal));

		const election = new LeaderElection(
			client,
			{
				namespace: settings.leaseNamespace,
				name: "tidemill-operator",
				identity: `${hostname()}_${randomBytes(4).toString("hex")}`,
			},
			log,
		);
		await election.run(stop, async (signal) => {
			leading.set(1);
			signal.addEventListener("abort", () => {
				// Another process may lead by now, so nothing more may be written.
				if (!stop.aborted) process.exit(1);
			});
			await Promise.all(loops.map((loop) => loop.run(signal)));
		});
	} catch (error) {
		if (!stop.aborted) throw error;
	} finally {
		watching.abort();
		await Promise.all(background);
		await nats?.close();
		await health.close();
	}
	log.info("operator has stopped");
	return 0;
}

function reasonNotReady(
	nats: NatsConnection | undefined,
	informers: Informers,
): string | undefined {
	if (!nats) return "waiting for NATS";
	const unlisted = Object.values(informers)
		.filter(({ hasSynced }) => !hasSynced)
		.map(({ kind }) => kind.plural);
	if (unlisted.length === 0) return undefined;
	return `waiting for the apiserver to list ${unlisted.join(", ")}`;
}

/** The client reconnects for ever, unless the server refuses the user: a restart reads the settings anew. */
async function exitWhenClosed(
	nats: NatsConnection,
	log: Logger,
	stop: AbortSignal,
): Promise<void> {
	const err = await nats.closed();
	if (stop.aborted) return;
	log.fatal({ err }, "NATS closed the connection for good");
	process.exit(1);
}
