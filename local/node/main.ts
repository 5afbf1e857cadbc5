import { existsSync, readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { ownAccess } from "../../packages/kube/client/own-access.ts";
import { kinds, type Pod } from "../../packages/kube/kinds.ts";
import { ControllerLoop } from "../../packages/kube/reconcile/controller.ts";
import { KubeEventRecorder } from "../../packages/kube/reconcile/kube-events.ts";
import { Informer } from "../../packages/kube/watch/informer.ts";
import { startHealthServer } from "../../packages/service/health-server.ts";
import { createLog } from "../../packages/service/log.ts";
import { SettingError, Settings } from "../../packages/service/settings.ts";
import { stopSignal } from "../../packages/service/start-order.ts";
import { tidemillCommand } from "../machine/home.ts";
import { PodController } from "./controller.ts";
import { endLeftBehind } from "./left-behind.ts";
import { startLogServer } from "./log-server.ts";
import { nodeDirectories } from "./pod.ts";
import { keepRegistered, nodeAddress, nodeFacts } from "./registration.ts";
import { findLog } from "./sandbox.ts";
import { Scheduler } from "./scheduler.ts";

/**
 * The process node takes the place of kubelet and scheduler for the Pods of one image, which it runs as child processes. It
 * isolates nothing: resources, users and security contexts don't apply. Its processes end with it ({@link endLeftBehind} if it
 * was killed), and their Jobs start the next Pods.
 *
 * Settings: KUBECONFIG (as `system:node:<NODE_NAME>`), SCHEDULER_KUBECONFIG (as `system:kube-scheduler`, because
 * NodeRestriction lets no node bind Pods), NODE_NAME, NODE_PORT (serves logs to the apiserver), NODE_CERT_FILE, NODE_KEY_FILE,
 * NODE_CLIENT_CA_FILE, TIDEMILL_IMAGE, TIDEMILL_HOME, TIDEMILL_COMMAND (default: this checkout's), HEALTH_PORT, HEALTH_HOST.
 */
export async function main(): Promise<number> {
	const settings = new Settings();
	const log = createLog("node");
	const stop = stopSignal();
	const image = settings.text("TIDEMILL_IMAGE");
	const nodeName = settings.text("NODE_NAME");
	const tidemill = settings.text("TIDEMILL_COMMAND", tidemillCommand());
	const directories = nodeDirectories(settings.text("TIDEMILL_HOME"));
	const clientOf = async (setting: string) =>
		KubeClient.at(await ownAccess(settings.text(setting)), {
			userAgent: "tidemill-process-node",
		});
	const client = await clientOf("KUBECONFIG");
	const schedulerClient = await clientOf("SCHEDULER_KUBECONFIG");
	const podsOf = (which: KubeClient, node: string) =>
		new Informer<Pod>(which, kinds.pod, {
			fieldSelector: `spec.nodeName=${node}`,
			log,
		});
	const bound = podsOf(client, nodeName);
	const unbound = podsOf(schedulerClient, "");
	let isRegistered = false;

	const leftBehind = await endLeftBehind(directories);
	const controller = new PodController({
		client,
		pods: bound,
		events: new KubeEventRecorder(client, "tidemill.dev/process-node", log),
		directories,
		leftBehind,
		image,
		tidemill,
		enqueue: (key) => podLoop.enqueue(key),
		log,
	});
	const podLoop = new ControllerLoop(controller, { log, workers: 4 });
	podLoop.watch(bound);
	for (const identity of leftBehind) podLoop.enqueue(identity);
	const scheduler = new Scheduler({
		client: schedulerClient,
		pods: unbound,
		events: new KubeEventRecorder(schedulerClient, "default-scheduler", log),
		nodeName,
		image,
	});
	const schedulerLoop = new ControllerLoop(scheduler, { log });
	schedulerLoop.watch(unbound);

	const logs = await startLogServer({
		host: nodeAddress,
		port: settings.port("NODE_PORT"),
		tls: {
			cert: textOf(settings, "NODE_CERT_FILE"),
			key: textOf(settings, "NODE_KEY_FILE"),
			clientCA: textOf(settings, "NODE_CLIENT_CA_FILE"),
		},
		find: (namespace, name, container) =>
			findLog(
				bound.get(namespace, name),
				(uid) => controller.sandbox(uid),
				directories,
				{ namespace, name, container },
			),
		log,
	});
	const health = await startHealthServer(settings, {
		ready: () => {
			if (!isRegistered)
				return "waiting for the apiserver to register the Node";
			return bound.hasSynced && unbound.hasSynced
				? undefined
				: "waiting for the apiserver to list pods";
		},
		registry: new Registry(),
	});
	log.info(
		{ nodeName, logPort: logs.port, directories },
		"process node starts",
	);

	// The informers outlive the loops, because the last reports need the Pods.
	const watching = new AbortController();
	const background = [
		bound.run(watching.signal),
		unbound.run(watching.signal),
		keepRegistered(
			client,
			nodeFacts(nodeName, logs.port, Date.now()),
			() => {
				isRegistered = true;
			},
			log,
			watching.signal,
		),
	];
	await Promise.all([podLoop.run(stop), schedulerLoop.run(stop)]);
	await controller.stop(stopGraceMs);
	watching.abort();
	await Promise.all([...background, logs.close(), health.close()]);
	log.info("process node has stopped");
	return 0;
}

/** Less than the supervisor waits before it kills this process. */
const stopGraceMs = 10_000;

function textOf(settings: Settings, name: string): string {
	const path = settings.text(name);
	if (!existsSync(path))
		throw new SettingError(
			`${name} is "${path}", but there is no such file. Set it to a PEM file.`,
		);
	return readFileSync(path, "utf8");
}

if (import.meta.main)
	process.exitCode = await main().catch((error) => {
		if (!(error instanceof SettingError)) throw error;
		process.stderr.write(`process node: ${error.message}\n`);
		return 2;
	});
