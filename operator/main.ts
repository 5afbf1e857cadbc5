import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { setFlagsFromString } from "node:v8";
import type { NatsConnection } from "@nats-io/transport-node";
import { allNamespaces } from "../crds/installation-claims.ts";
import { annotation } from "../crds/labels.ts";
import { KubeClient } from "../packages/kube/client/client.ts";
import { ownAccess } from "../packages/kube/client/own-access.ts";
import { ServerClock } from "../packages/kube/client/server-clock.ts";
import { registerKubeMetrics } from "../packages/kube/metrics.ts";
import type { ControllerLoop } from "../packages/kube/reconcile/controller.ts";
import { KubeEventRecorder } from "../packages/kube/reconcile/kube-events.ts";
import { LeaderElection } from "../packages/kube/reconcile/lease.ts";
import { observeBacklogs } from "../packages/service/backlog-metrics.ts";
import { observeCertificates } from "../packages/service/certificate-metrics.ts";
import {
	healthPart,
	processRegistry,
	startHealthServer,
} from "../packages/service/health-server.ts";
import { createLog } from "../packages/service/log.ts";
import { natsServers } from "../packages/service/nats/address.ts";
import { connectNats, NatsState } from "../packages/service/nats/connection.ts";
import { Settings } from "../packages/service/settings.ts";
import {
	natsPart,
	type ProcessPart,
	runInOrder,
	stopSignal,
} from "../packages/service/start-order.ts";
import { openTracing } from "../packages/service/tracing.ts";
import { readBacklogs } from "../packages/streams/backlogs.ts";
import { noArchiveNotice } from "../packages/streams/made-streams.ts";
import { warnOfSharedAccount } from "../packages/streams/own-account.ts";
import { createApiSecretController } from "./api-secret.ts";
import { InstallationClaimer } from "./claims.ts";
import { createDestinationController } from "./destination/controller.ts";
import {
	notice,
	type OperatorParts,
	reasonNotAlive,
	reasonNotReady,
} from "./health.ts";
import {
	missingNamespaces,
	reportInstallation,
	reportInterventions,
} from "./installation-events.ts";
import { JobSlots } from "./jobs/slots.ts";
import { noteOnLease, noteStoppedShards, stoppedShards } from "./lease-note.ts";
import { OperatorMetrics } from "./metrics.ts";
import { reloadNats } from "./nats-reload.ts";
import { NotificationOutbox } from "./notification/outbox.ts";
import { createOperationController } from "./operation/controller.ts";
import { createPipelineController } from "./pipeline/controller.ts";
import { createInformers } from "./reconcile/informers.ts";
import { LedgerView } from "./reconcile/ledgers.ts";
import { NamespacePermissions } from "./reconcile/namespace-permissions.ts";
import { createRunController } from "./run/controller.ts";
import { traceRuns } from "./run/run-trace.ts";
import type { ServedNamespaces } from "./served-namespaces.ts";
import { readOperatorSettings } from "./settings.ts";
import { createSourceController } from "./source/controller.ts";
import { createSourceDeletionController } from "./source/deletion/controller.ts";
import { createRouteController } from "./source/routes/controller.ts";
import { RestoreGuard } from "./source/routes/restore-guard.ts";
import { natsClaim, RouteBuckets } from "./source/routes/route-buckets.ts";
import { ShardBacklogs } from "./source/shard-backlogs.ts";
import { createTrackingPlanController } from "./tracking-plan/controller.ts";
import { PlanVersions } from "./tracking-plan/plan-versions.ts";

/** Less than a Pod's 30 s: the next leader waits for a lease that was not released. */
const stopTimeoutMs = 20_000;
/** How long of it the last KubeEvents may take. */
const kubeEventsMs = 5_000;

/** The role `operator`: one process leads, the others stand by with full caches. Returns the exit code. */
export async function main(): Promise<number> {
	// What is large in accounts' objects is garbage as soon as it is read. By default V8 lets that grow to 100 MiB and more before it
	// looks, and gives nothing back while the process is idle (`make bench ONLY=operator BENCH_PARTS=objects`).
	setFlagsFromString("--heap-growing-percent=10");
	const env = new Settings();
	const log = createLog("operator");
	const settings = readOperatorSettings(env, log);
	const access = await ownAccess(env.optional("KUBECONFIG"));
	const stop = stopSignal();
	const tracing = await openTracing("operator", env, log);

	const userAgent = "tidemill-operator";
	const clock = new ServerClock();
	const election = new LeaderElection(
		// It asks every few seconds, whether it leads or not.
		KubeClient.at(access, { userAgent, onAnswer: clock.hear }),
		{
			namespace: settings.leaseNamespace,
			name: settings.leaseName,
			metricName: "tidemill-operator",
			identity: `${hostname()}_${randomBytes(4).toString("hex")}`,
			durationMs: settings.leaseDurationMs,
		},
		log,
	);
	const client = KubeClient.at(access, {
		userAgent,
		guard: () => election.assertHeld(),
	});
	const claims = new InstallationClaimer(
		// A standby claims, too: it is to know what it would serve.
		KubeClient.at(access, { userAgent }),
		{
			lease: { namespace: settings.leaseNamespace, name: settings.leaseName },
			deployment: settings.deployment,
			wanted: [
				...(settings.watchNamespaces ?? [allNamespaces]),
				...settings.exclusiveStores,
			],
			log,
		},
	);
	const permissions = new NamespacePermissions(
		// A standby asks, too.
		KubeClient.at(access, { userAgent }),
		{
			namespaces: settings.watchNamespaces,
			role: settings.namespaceRole,
			log,
		},
	);
	const informers = createInformers(client, {
		namespaces: settings.watchNamespaces,
		whenPermitted: (namespace, signal) =>
			permissions.whenPermitted(namespace, signal),
		log,
	});
	informers.roleBindings.onChange(({ metadata }) =>
		permissions.lookSoon(metadata.namespace!),
	);
	const health: OperatorParts = {
		hasNats: false,
		natsState: new NatsState(),
		noArchive: () => undefined,
		permissions,
		informers: Object.values(informers),
		loops: [],
		election,
		clock,
	};

	const shardNumbers = Array.from({ length: settings.shards }, (_, n) => n);
	let metrics: OperatorMetrics;
	let nats: NatsConnection;
	let ledgerView: LedgerView | undefined;
	const backlogs = () => readBacklogs(nats, shardNumbers);
	const shardBacklogs = new ShardBacklogs(backlogs, log);
	const registry = processRegistry();
	const healthServer = healthPart("operator", log, () => {
		registerKubeMetrics(registry);
		observeBacklogs(registry, async () => (health.hasNats ? backlogs() : []));
		observeCertificates(registry, natsServers(env, log));
		metrics = new OperatorMetrics(
			registry,
			informers,
			claims,
			permissions,
			() => health.restore?.isAwaited ?? false,
			(sourceKey) => ledgerView?.lostEvents(sourceKey) ?? 0,
			clock,
		);
		return startHealthServer(env, {
			port: env.port("HEALTH_PORT", 8_081),
			live: () => reasonNotAlive(health),
			ready: () => reasonNotReady(health),
			notice: () => notice(health),
			registry,
		});
	});

	const natsConnection = natsPart(async (stopping) => {
		nats = await connectNats(env, "operator", log, stopping, health.natsState);
		health.hasNats = true;
		health.noArchive = () => noArchiveNotice(nats);
		return nats;
	});

	let served: ServedNamespaces;
	const claiming: ProcessPart = {
		name: "claims",
		start: async (stopping) => {
			// One's own NATS is no other's.
			const isShared = settings.exclusiveStores.some((address) =>
				address.startsWith("nats:"),
			);
			served = await claims.claim(stopping, async () =>
				isShared ? [await natsClaim(nats, settings.bucketReplicas)] : [],
			);
			const following = new AbortController();
			const ended = claims.follow(served, following.signal);
			return {
				failed: ended.then(() => new Promise<never>(() => {})),
				stop: async () => {
					following.abort();
					// What it rejects with has ended the process.
					await ended.catch(() => undefined);
				},
			};
		},
	};

	let loops: ControllerLoop[] = [];
	const kubeEvents = new KubeEventRecorder(
		client,
		"tidemill.dev/operator",
		log,
		() => loops.some(({ isBusy }) => isBusy),
	);
	const caches: ProcessPart = {
		name: "caches",
		start: async () => {
			const buckets = { replicas: settings.bucketReplicas, log };
			const restore = new RestoreGuard(
				client,
				{ namespace: settings.leaseNamespace, name: settings.leaseName },
				log,
			);
			health.restore = restore;
			ledgerView = new LedgerView(nats, log);
			const context = {
				...settings,
				statusIntervalMs: settings.sourceStatusIntervalMs,
				client,
				kubeEvents,
				informers,
				permissions,
				nats,
				log,
				ledgers: ledgerView,
				routes: new RouteBuckets(nats, buckets),
				outbox: new NotificationOutbox(nats, buckets),
				restore,
				plans: new PlanVersions(),
				shardBacklogs,
				slots: new JobSlots(settings.jobLimits),
			};
			// Created before the informers run, so that the loops see every object. They run when this process leads.
			loops = [
				createRouteController(context),
				createSourceController(context),
				createSourceDeletionController(context),
				createDestinationController(context),
				createPipelineController(context),
				createRunController(context),
				createOperationController(context),
				createTrackingPlanController(context),
				createApiSecretController(context),
			];
			health.loops = loops;
			const watching = new AbortController();
			const { ledgers, routes, outbox } = context;
			const watchers = [ledgers, routes, outbox, shardBacklogs];
			const ended = [
				...[permissions, ...Object.values(informers)].map((each) =>
					each.run(watching.signal, served),
				),
				...watchers.map((each) => each.run(watching.signal)),
			];
			return {
				stop: async () => {
					watching.abort();
					await Promise.all(ended);
				},
			};
		},
	};

	const leadership: ProcessPart = {
		name: "leadership",
		start: async () => {
			const stepDown = new AbortController();
			const ended = election.run(stepDown.signal, async (signal) => {
				signal.addEventListener("abort", () => {
					// Another process may lead by now, so this one must write nothing more.
					if (!stepDown.signal.aborted) process.exit(1);
				});
				metrics.countRuns();
				if (tracing) traceRuns(tracing, informers.runs);
				const { natsReloadIntervalMs, deployment, leaseNamespace } = settings;
				const lease = { namespace: leaseNamespace, name: settings.leaseName };
				const notes = { client, lease, log };
				await claims.releaseOthers();
				const installation = {
					...{ client, kubeEvents, log },
					deployment: deployment
						? { namespace: leaseNamespace, name: deployment }
						: undefined,
				};
				reportInterventions(installation, ledgerView!);
				void warnOfSharedAccount(nats, {
					...{ role: "operator", registry, log },
					onLook: (isOwn) =>
						void noteOnLease(
							notes,
							annotation.natsAccount,
							isOwn ? undefined : "shared",
						),
				});
				await Promise.all([
					...loops.map((loop) => loop.run(signal)),
					noteStoppedShards(
						notes,
						() => stoppedShards(shardBacklogs, ledgerView!),
						signal,
					),
					...[claims.findings, missingNamespaces(permissions)].map((findings) =>
						reportInstallation(installation, findings, signal),
					),
					natsReloadIntervalMs &&
						reloadNats(nats, natsReloadIntervalMs, log, signal),
				]);
				// Without the lease nothing may be written.
				await kubeEvents.finish(kubeEventsMs);
			});
			return {
				stop: async () => {
					stepDown.abort();
					await ended;
				},
			};
		},
	};

	const parts = [healthServer, natsConnection, claiming, caches, leadership];
	await runInOrder(parts, stop, { stopTimeoutMs, log });
	await tracing?.stop();
	log.info("operator has stopped");
	return 0;
}
