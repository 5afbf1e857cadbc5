import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { NatsConnection } from "@nats-io/transport-node";
import { exportSubject, uploadSubject } from "../packages/contracts/nats.ts";
import { loadCluster } from "../packages/kube/client/cluster.ts";
import { tokenClients } from "../packages/kube/client/token-clients.ts";
import {
	processRegistry,
	startHealthServer,
} from "../packages/service/health-server.ts";
import { createLog, type Logger } from "../packages/service/log.ts";
import { connectNats, NatsState } from "../packages/service/nats/connection.ts";
import { SealKey, SealKeyRing } from "../packages/service/seal-key.ts";
import {
	explainTakenPort,
	SettingError,
	Settings,
} from "../packages/service/settings.ts";
import { stopSignal } from "../packages/service/start-order.ts";
import { noArchiveNotice } from "../packages/streams/made-streams.ts";
import { warnOfSharedAccount } from "../packages/streams/own-account.ts";
import { NatsRateCounter } from "./caller/rate-counter.ts";
import type { ConsoleOptions } from "./console/console.ts";
import { NatsEndedSessions } from "./console/ended-sessions.ts";
import { loopbackNames } from "./console/own-page.ts";
import {
	askAnyArchive,
	askArchiveForEvents,
} from "./events/archive-question.ts";
import { followArchive } from "./events/archive-tail.ts";
import { readCountsFrom } from "./events/days.ts";
import { readRefusedFrom } from "./events/refused-requests.ts";
import { askReceive } from "./events/send-again.ts";
import { NatsIdempotencyStore } from "./http/idempotency-store.ts";
import { RequestMetrics } from "./http/request-metrics.ts";
import { askArchiveForLog } from "./runs/logs.ts";
import { createApi } from "./server.ts";

/** A caller gets an answer within this time even if the apiserver sends none. */
const requestTimeoutMs = 10_000;

/**
 * `tidemill api`: serves the REST API until SIGTERM, then answers the accepted requests and returns 0.
 * @param version of Tidemill.
 */
export async function main(version: string): Promise<number> {
	const log = createLog("api");
	const settings = new Settings();
	const cluster = loadCluster(settings.optional("KUBECONFIG"));
	const stopping = stopSignal();

	const registry = processRegistry();
	const natsState = new NatsState();
	let isListening = false;
	let nats: NatsConnection | undefined;
	const health = await startHealthServer(settings, {
		ready: () =>
			stopping.aborted
				? "stopping"
				: !isListening
					? "not listening yet"
					: // One that is merely away comes back by itself, and most requests don't need it.
						natsState.isRefused
						? natsState.reason
						: undefined,
		notice: () => noArchiveNotice(nats),
		registry,
	});

	const replicas = settings.replicas();
	const connection = () => {
		if (!nats || nats.isClosed()) throw new Error("not connected to NATS");
		return nats;
	};
	// In the background: most requests need no NATS.
	const connecting = connectNats(
		settings,
		"api",
		log,
		stopping,
		natsState,
	).then(
		(connected) => {
			nats = connected;
			void warnOfSharedAccount(connected, { role: "api", registry, log });
		},
		(error) => {
			if (!stopping.aborted) throw error;
		},
	);
	// Thrown below, once the API listens.
	connecting.catch(() => {});
	const api = createApi({
		clientFor: tokenClients(cluster, {
			userAgent: "tidemill-api",
			requestTimeoutMs,
		}),
		rateLimit: {
			limit: settings.integer("API_RATE_LIMIT", [1, 1_000_000], 120),
			windowMs: 60_000,
			shared: new NatsRateCounter({ connection, replicas }),
		},
		idempotency: new NatsIdempotencyStore({ connection, replicas }),
		archive: {
			askLog: askArchiveForLog(connection),
			readRefused: readRefusedFrom(connection),
			readCounts: readCountsFrom(connection),
			followArchive: (...tail) => followArchive(connection, ...tail),
			askEvents: askArchiveForEvents(connection, log),
			askExport: askAnyArchive(connection, exportSubject),
			askUploads: askAnyArchive(connection, uploadSubject),
		},
		receive: { sendAgain: askReceive(connection, log) },
		isProxy: settings.proxies("API_TRUSTED_PROXIES"),
		console: consoleOptions(settings, log, version, {
			ended: new NatsEndedSessions({ connection, replicas }),
		}),
		metrics: new RequestMetrics(registry),
		log,
		stopping,
	});
	try {
		const address = await api
			.listen({
				host: settings.text("API_HOST", "127.0.0.1"),
				port: settings.port("API_PORT", 8_090),
			})
			.catch(explainTakenPort("API_PORT"));
		isListening = true;
		log.info({ address }, "serving the REST API");
		await Promise.all([connecting, fired(stopping)]);
		await api.close();
		await nats?.close();
	} finally {
		await api.close();
		await health.close();
	}
	log.info("stopped");
	return 0;
}

async function fired(signal: AbortSignal): Promise<void> {
	if (!signal.aborted) await once(signal, "abort");
}

/** The settings API_CONSOLE…; undefined if no console is served. */
function consoleOptions(
	settings: Settings,
	log: Logger,
	version: string,
	shared: Pick<ConsoleOptions, "ended">,
): ConsoleOptions | undefined {
	if (!settings.boolean("API_CONSOLE", true)) return undefined;
	const keyFile = settings.optional("API_CONSOLE_SEAL_KEY");
	if (!keyFile)
		log.warn(
			"API_CONSOLE_SEAL_KEY is not set: sessions of the console end with this process. Name a file with 32 random characters there.",
		);
	return {
		directory: settings.text(
			"API_CONSOLE_FILES",
			join(import.meta.dirname, "../console/dist"),
		),
		keys: keyFile
			? new SealKeyRing(keyFile, log, "API_CONSOLE_SEAL_KEY")
			: new SealKey(randomBytes(32)),
		hosts: new Set([
			...loopbackNames,
			...(settings.list("API_CONSOLE_HOSTS") ?? []).map((name) =>
				name.toLowerCase(),
			),
		]),
		...shared,
		codes: settings.optional("API_CONSOLE_CODES"),
		oidc: oidcOptions(settings),
		version,
	};
}

/** The settings API_CONSOLE_OIDC…; undefined without an issuer. */
function oidcOptions(settings: Settings): ConsoleOptions["oidc"] {
	const issuer = settings.optional("API_CONSOLE_OIDC_ISSUER");
	if (issuer === undefined) return undefined;
	if (!issuer.startsWith("https://") || !URL.canParse(issuer))
		throw new SettingError(
			`API_CONSOLE_OIDC_ISSUER is "${issuer}". It must be the issuer's URL, as in the apiserver's --oidc-issuer-url, such as https://login.example.com.`,
		);
	const clientId = settings.optional("API_CONSOLE_OIDC_CLIENT_ID");
	if (clientId === undefined)
		throw new SettingError(
			"API_CONSOLE_OIDC_CLIENT_ID is missing: the apiserver accepts the ID tokens of one client, that of its --oidc-client-id.",
		);
	const secretFile = settings.optional("API_CONSOLE_OIDC_CLIENT_SECRET");
	return {
		issuer,
		clientId,
		...(secretFile !== undefined && {
			clientSecret: () => readFileSync(secretFile, "utf8").trim(),
		}),
		scopes: settings.text("API_CONSOLE_OIDC_SCOPES", "openid profile email"),
	};
}
