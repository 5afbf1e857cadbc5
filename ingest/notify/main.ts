import type { BlockList } from "node:net";
import type { NatsConnection } from "@nats-io/transport-node";
import { networkList } from "../../packages/service/address.ts";
import {
	healthPart,
	processRegistry,
	startHealthServer,
} from "../../packages/service/health-server.ts";
import { createLog, type Logger } from "../../packages/service/log.ts";
import {
	connectNats,
	NatsState,
} from "../../packages/service/nats/connection.ts";
import {
	readSealKeys,
	type SecretSealer,
} from "../../packages/service/seal-key.ts";
import { SettingError, Settings } from "../../packages/service/settings.ts";
import {
	natsPart,
	type ProcessPart,
	runInOrder,
	stopSignal,
} from "../../packages/service/start-order.ts";
import { noArchiveNotice } from "../../packages/streams/made-streams.ts";
import { warnOfSharedAccount } from "../../packages/streams/own-account.ts";
import { getText } from "./checked-request.ts";
import { notifyMetrics, WebhookDeliverer } from "./deliverer.ts";
import { QuestionResponder } from "./question-responder.ts";
import { DeliveryReports } from "./reports.ts";

/** Of calls at once: 256 receivers that hang still leave places to other accounts. */
const limits = { overall: 256, perAccount: 4 };
/** Less than receive waits. */
const questionTimeoutMs = 8_000;
/** More than a call's timeout, less than a Pod's 30 s. */
const stopTimeoutMs = 20_000;

/** The role `notify`: calls webhooks, and is the only process that calls addresses which users choose. Returns the exit code. */
export async function main(): Promise<number> {
	const env = new Settings();
	const log = createLog("notify");
	const settings = readNotifySettings(env, log);
	const { allowedNetworks, timeoutMs } = settings;
	const state = new NatsState();
	const registry = processRegistry();
	let nats: NatsConnection | undefined;
	let deliverer: WebhookDeliverer | undefined;
	const metrics = notifyMetrics(registry, () => deliverer?.inHand ?? 0);

	const healthServer = healthPart("notify", log, () =>
		startHealthServer(env, {
			ready: () =>
				nats && !state.isRefused ? undefined : (state.reason ?? "starting"),
			notice: () => noArchiveNotice(nats),
			registry,
		}),
	);

	let connection: NatsConnection;
	const natsConnection = natsPart(async (stopping) => {
		connection = await connectNats(env, "notify", log, stopping, state);
		nats = connection;
		void warnOfSharedAccount(connection, { role: "notify", registry, log });
		return connection;
	});

	const deliveries: ProcessPart = {
		name: "deliveries",
		start: async () => {
			deliverer = new WebhookDeliverer({
				nats: connection,
				reports: new DeliveryReports(connection, settings.replicas),
				sealKey: settings.sealKey,
				call: { allowedNetworks, timeoutMs },
				limits,
				onAttempt: metrics.attempted,
				log,
			});
			const stopping = new AbortController();
			const ended = deliverer.run(stopping.signal);
			return {
				stop: async () => {
					stopping.abort();
					await ended;
				},
			};
		},
	};

	const questions: ProcessPart = {
		name: "questions of receive",
		start: async () =>
			new QuestionResponder({
				nats: connection,
				get: (url, maxBytes) =>
					getText(url, maxBytes, {
						allowedNetworks,
						timeoutMs: questionTimeoutMs,
					}),
				log,
			}).start(),
	};
	const parts = [healthServer, natsConnection, deliveries, questions];
	await runInOrder(parts, stopSignal(), {
		stopTimeoutMs,
		log,
	});
	log.info("notify has stopped");
	return 0;
}

/** Notify's settings, beside NATS_URL and the health server's address. */
interface NotifySettings {
	sealKey: SecretSealer;
	/** Networks that may be called although they aren't public, and by http. */
	allowedNetworks: BlockList;
	timeoutMs: number;
	/** Of the bucket of deliveries. */
	replicas: number;
}

/** Throws {@link SettingError}. */
export function readNotifySettings(
	settings: Settings,
	log: Logger,
): NotifySettings {
	const sealKey = readSealKeys(settings, log);
	if (!sealKey)
		throw new SettingError(
			"TIDEMILL_SEAL_KEY is not set. It must name the same file as the operator's: with it, notify opens the webhooks.",
		);
	return {
		sealKey,
		allowedNetworks: readNetworks(settings),
		timeoutMs: settings.integer("NOTIFY_TIMEOUT_MS", [100, 15_000], 10_000),
		replicas: settings.replicas(),
	};
}

function readNetworks(settings: Settings): BlockList {
	const text = settings.optional("NOTIFY_ALLOWED_NETWORKS");
	try {
		return networkList(text?.split(",").map((part) => part.trim()) ?? []);
	} catch {
		throw new SettingError(
			`NOTIFY_ALLOWED_NETWORKS is "${text}". It must be networks separated by commas, such as 10.20.0.0/16,fd00:20::/32.`,
		);
	}
}
