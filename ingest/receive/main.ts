import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../packages/contracts/nats.ts";
import {
	processRegistry,
	startHealthServer,
} from "../../packages/service/health-server.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	type BucketReader,
	BucketWatch,
} from "../../packages/service/nats/bucket-watch.ts";
import {
	connectNats,
	NatsState,
} from "../../packages/service/nats/connection.ts";
import { keepOutput } from "../../packages/service/nats/kept-output.ts";
import { pause } from "../../packages/service/pause.ts";
import { readSealKeys } from "../../packages/service/seal-key.ts";
import {
	explainTakenPort,
	SettingError,
	Settings,
} from "../../packages/service/settings.ts";
import { stopSignal } from "../../packages/service/start-order.ts";
import { openTracing } from "../../packages/service/tracing.ts";
import { openWatched } from "../../packages/streams/changes.ts";
import { warnOfSharedAccount } from "../../packages/streams/own-account.ts";
import { IdempotencyBucket } from "../wire/idempotency-bucket.ts";
import { MemoryBudget } from "./admission/budget.ts";
import { RequestLimits } from "./admission/limits.ts";
import { AgainResponder } from "./again-responder.ts";
import { AmazonSns } from "./body/amazon-sns.ts";
import { askThrough, NotifyQuestions } from "./body/notify-questions.ts";
import { PublicKeysByURL } from "./body/public-keys-by-url.ts";
import { KeyClaims, readShardProgress } from "./commit/claims.ts";
import { LivingArchives } from "./commit/living-archives.ts";
import { ShardWriter } from "./commit/shard-writer.ts";
import { HttpServer, usualBounds } from "./http-server.ts";
import { observePlans, ReceiveMetrics } from "./metrics.ts";
import { TrackingPlans } from "./plan/tracking-plans.ts";
import { RefusedRequests } from "./request/refused-requests.ts";
import { RouteTable } from "./request/route-table.ts";
import type { ReceiverParts } from "./webhook-request.ts";

/** One account may have half, which leaves the others a quarter of the connections at least. */
const maxRequestsInFlight = 1.5 * usualBounds.most;
/** Building frames can double this. */
const maxBytesInFlight = 64 * 1024 * 1024;
const tickMs = 100;
/** How long a sender waits for one answer about its idempotency key. */
const keyTimeoutMs = 900;
const inspectOpenMs = 10_000;
const inspectClosedMs = 500;

/** `tidemill receive`: accepts events until SIGTERM, then finishes the accepted ones and returns 0. */
export async function main(): Promise<number> {
	// The requests of a first burst outlive a collection. V8 would then allocate all later ones in its old generation, where
	// they live until a major collection: that costs a fifth of the throughput (docs/decisions/0001-receive-on-node-http.md).
	setFlagsFromString("--no-allocation-site-pretenuring");
	// Bodies are outside V8's heap. V8 would mark all of its heap after each 64 MiB of them, though most are free without that.
	setFlagsFromString("--external-memory-accounted-in-global-limit");
	const log = createLog("receive");
	const settings = new Settings();
	const shardCount = settings.shards();
	// Like kube-apiserver's --shutdown-delay-duration: until all load balancers have seen that this Pod isn't ready.
	const shutdownDelayMs = settings.integer(
		"RECEIVE_SHUTDOWN_DELAY_MS",
		[0, 60_000],
		5_000,
	);
	const closed = readClosedSources(settings);
	if (closed.length > 0)
		log.warn({ closed }, "the URLs of these source keys get 404");
	const sealKeys = readSealKeys(settings, log);
	const stop = stopSignal();
	const tracing = await openTracing("receive", settings, log);
	const state = new NatsState();

	const registry = processRegistry();
	const budget = new MemoryBudget(maxRequestsInFlight, maxBytesInFlight);
	const archives = new LivingArchives();
	const plans = new TrackingPlans({ archives, log });
	observePlans(registry, plans);
	const routes = new RouteTable(sealKeys, plans.table, closed);
	sealKeys?.onChange(() => routes.sealKeysChanged());
	const metrics = new ReceiveMetrics(registry, budget, routes);
	const shards: ShardWriter[] = [];
	let routesWatch: BucketWatch | undefined;

	const health = await startHealthServer(settings, {
		ready: () =>
			stop.aborted
				? "stopping"
				: (reasonNotReady(state, shards) ??
					reasonNotRouted(routes, plans, routesWatch)),
		notice: () =>
			shards.map((shard) => shard.notice).find(Boolean) ??
			(routesWatch?.isMissing
				? `those in memory are served. ${noRoutes}`
				: undefined),
		registry,
	});
	const limits = new RequestLimits(budget);
	const receiver: ReceiverParts = {
		routes,
		shards,
		limits,
		metrics,
		plans,
		tracing,
	};
	const server = new HttpServer(receiver, {
		...usualBounds,
		isProxy: settings.proxies("RECEIVE_TRUSTED_PROXIES"),
	});
	// Listen before NATS is reached, so that a sender gets a 503 instead of no answer.
	const listening = await server
		.listen(
			settings.port("RECEIVE_PORT", 8_080),
			settings.text("RECEIVE_HOST", "127.0.0.1"),
		)
		.catch(async (error: NodeJS.ErrnoException) => {
			await health.close();
			return explainTakenPort("RECEIVE_PORT")(error);
		});
	log.info({ port: listening, healthPort: health.port }, "receive listens");

	const connection = await connectNats(
		settings,
		"receive",
		log,
		stop,
		state,
	).catch((error: unknown) => {
		if (!stop.aborted) throw error;
	});
	if (!connection) {
		await server.close();
		await health.close();
		return 0;
	}
	keepOutput(connection);
	for (let number = 0; number < shardCount; number++) {
		const shard = new ShardWriter({
			connection,
			shard: number,
			log,
			onFrame: (frame) => metrics.frame(frame),
		});
		shards.push(shard);
	}
	const claims = new KeyClaims({
		bucket: await IdempotencyBucket.open(connection, keyTimeoutMs),
		isOpen: (shard) => shards[shard]?.unavailable === undefined,
		progress: (shard) => readShardProgress(connection, shard, keyTimeoutMs),
		dateMs: () => Date.now(),
		now: () => performance.now(),
		delay: (ms) => delay(ms, undefined, { ref: false }),
		log,
	});
	metrics.observeKeys(claims);
	receiver.claims = claims;
	const refused = new RefusedRequests(connection);
	metrics.observeRefused(refused);
	receiver.refused = refused;
	const questions = new NotifyQuestions(askThrough(connection));
	receiver.sns = new AmazonSns(questions);
	receiver.publicKeys = new PublicKeysByURL(questions);
	const again = new AgainResponder(connection, receiver, log);
	const watch = (name: string, reader: BucketReader) =>
		new BucketWatch(() => openWatched(connection, name), reader, log);
	routesWatch = watch(bucket.routes, routes);
	const watches = [routesWatch, watch(bucket.archives, archives)];
	const background = new AbortController();
	const tick = () => {
		limits.tick(performance.now());
		plans.tick();
		for (const { committer } of shards) committer.tick();
	};
	// Read waiting input first: an acknowledgement that came while this process got no CPU is not late.
	const ticking = setInterval(() => setImmediate(tick), tickMs);
	for (const watch of watches) void watch.run(background.signal);
	void inspectShards(shards, background.signal);
	void followConnection(connection, shards, watches);
	void warnOfSharedAccount(connection, { role: "receive", registry, log });

	const end = await Promise.race([
		stop.aborted || once(stop, "abort"),
		connection.closed(),
	]);
	if (!stop.aborted)
		log.fatal({ err: end }, "NATS closed the connection for good");
	log.info("receive is stopping; it finishes the accepted events first");
	server.retire();
	again.retire();
	if (stop.aborted) await delay(shutdownDelayMs);
	await Promise.all([server.close(), again.settled()]);
	background.abort();
	clearInterval(ticking);
	await plans.stop();
	await tracing?.stop();
	// Archive settles the claims that are left.
	await Promise.race([
		claims.settled(),
		delay(1_000, undefined, { ref: false }),
	]);
	await Promise.race([
		connection.close(),
		// The health server keeps the process alive meanwhile.
		delay(1_000, undefined, { ref: false }),
	]);
	await health.close();
	return stop.aborted ? 0 : 1;
}

function readClosedSources(settings: Settings): string[] {
	const closed = settings.list("TIDEMILL_CLOSED_SOURCES") ?? [];
	const wrong = closed.find((key) => !/^[0-9a-f]{32}$/.test(key));
	if (wrong !== undefined)
		throw new SettingError(
			`TIDEMILL_CLOSED_SOURCES has "${wrong}". It takes source keys, separated by commas: the 32 hex digits after /hooks/ in a webhook URL.`,
		);
	return closed;
}

function reasonNotReady(
	nats: NatsState,
	shards: readonly ShardWriter[],
): string | undefined {
	if (nats.isRefused) return nats.reason;
	if (shards.length === 0) return nats.reason ?? "starting";
	return shards.map((shard) => shard.notReady).find(Boolean);
}

const noRoutes =
	"NATS has no bucket of routes: archive makes it as soon as operator asks, so see that both run (docs/runbooks/TidemillArchiveDown.md)";

function reasonNotRouted(
	routes: RouteTable,
	plans: TrackingPlans,
	watch: BucketWatch | undefined,
): string | undefined {
	if (!routes.isSynced)
		return watch?.isMissing
			? noRoutes
			: "operator hasn't synced the routes yet";
	// A rolling restart would otherwise answer 503 for every Source with a plan.
	return plans.isStarted ? undefined : "the tracking plans are being compiled";
}

/** Inspects every stream again and again, more often while one is closed. */
async function inspectShards(
	shards: readonly ShardWriter[],
	signal: AbortSignal,
): Promise<void> {
	while (!signal.aborted) {
		await Promise.all(shards.map((shard) => shard.inspect()));
		const inspectedAtMs = performance.now();
		do await pause(inspectClosedMs, signal);
		while (
			!signal.aborted &&
			performance.now() - inspectedAtMs < inspectOpenMs &&
			!shards.some((shard) => shard.needsInspection)
		);
	}
}

async function followConnection(
	connection: NatsConnection,
	shards: readonly ShardWriter[],
	watches: readonly BucketWatch[],
): Promise<void> {
	for await (const status of connection.status()) {
		if (status.type === "disconnect")
			for (const shard of shards) shard.connectionLost();
		if (status.type === "reconnect") {
			for (const watch of watches) watch.readAgain();
			for (const shard of shards) shard.reconnected();
		}
	}
}
