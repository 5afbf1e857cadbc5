import { setTimeout as delay } from "node:timers/promises";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { fieldManager } from "../crds/labels.ts";
import type { ShareAnswer } from "../packages/contracts/archive.ts";
import { bucket, shareSubject } from "../packages/contracts/nats.ts";
import { type Route, routeKey } from "../packages/contracts/route.ts";
import { KubeClient } from "../packages/kube/client/client.ts";
import { hasReason } from "../packages/kube/client/errors.ts";
import { loadKubeConfig } from "../packages/kube/client/kube-config.ts";
import { kinds } from "../packages/kube/kinds.ts";
import { createLog, type Logger } from "../packages/service/log.ts";
import {
	connectNats,
	isConflict,
} from "../packages/service/nats/connection.ts";
import { Settings } from "../packages/service/settings.ts";
import { decideMove, type MovePlan, MoveRefusal } from "./move-plan.ts";
import { askArchive } from "./reconcile/archive-question.ts";
import { fetchSecret } from "./reconcile/secret-ref.ts";
import { readOperatorSettings } from "./settings.ts";
import { KeyOwners } from "./source/routes/key-owners.ts";
import { keysIn, keysSecretName, shardsPatch } from "./source/routes/keys.ts";

/** Longer than the next leader waits for a lease that was not released. */
const followMs = 60_000;
const maxTries = 5;

export interface MoveRequest {
	client: KubeClient;
	nats: NatsConnection;
	log: Logger;
	namespace: string;
	source: string;
	/** As the administrator wrote it. */
	shard: string;
	/** How many shards there are. */
	shards: number;
}

/**
 * Moves a Source: docs/decisions/0026-a-source-keeps-its-former-shards.md. Each step can be repeated, whichever was the last before
 * a crash. The third write, the route's, is the leading operator's. Throws {@link MoveRefusal}.
 */
export async function move(asked: MoveRequest): Promise<MovePlan> {
	for (let tries = 1; ; tries++)
		try {
			const owners = await readOwners(asked.nats);
			const plan = await planMove(asked, owners);
			await requireAnswers(asked, plan);
			await writeSecret(asked, plan);
			await owners.addShards(plan.keys.sourceKey, plan.shards);
			await untilRouteFollows(asked, plan);
			return plan;
		} catch (error) {
			// Somebody else has written the Secret or the set meanwhile.
			const isRace = isConflict(error) || hasReason(error, "Conflict");
			if (!isRace || tries === maxTries) throw error;
		}
}

export async function readOwners(nats: NatsConnection): Promise<KeyOwners> {
	const owners = new KeyOwners();
	await owners.read(nats, await new Kvm(nats).open(bucket.sourceKeys));
	return owners;
}

export async function planMove(
	asked: MoveRequest,
	owners: KeyOwners,
): Promise<MovePlan> {
	const { client, nats, namespace, source } = asked;
	const secret = await fetchSecret(client, namespace, keysSecretName(source));
	const keys = keysIn(secret, source);
	const sourceKey = typeof keys === "object" ? keys.sourceKey : "";
	const routes = await new Kvm(nats).open(bucket.routes);
	return decideMove({
		...asked,
		keys,
		keyOwner: owners.all.get(sourceKey),
		published: sourceKey ? await routeIn(routes, sourceKey) : undefined,
		known: owners.shardsOf(sourceKey),
	});
}

/** An archive of before Sources had several shards answers nobody, and wouldn't ask the others for their shares either. */
async function requireAnswers(
	{ nats, log, namespace }: MoveRequest,
	{ keys: { sourceKey }, shards }: MovePlan,
): Promise<void> {
	for (const shard of shards) {
		const answer = await askArchive<ShareAnswer>(
			{ nats, log },
			{ subject: shareSubject(shard), shard },
			{ account: namespace, sourceKey },
			"NoAnswer",
			new AbortController().signal,
		);
		if (!answer.ok)
			throw new MoveRefusal(
				`The Source's shards would be ${shards.join(" and ")}, and archive of shard ${shard} doesn't say which of the events it has: ${answer.error.message} Nothing was written. Archive must run, in this operator's version: complete the upgrade, then repeat the command.`,
			);
	}
}

/** Kubernetes refuses it if the Secret has changed since it is read here. */
export async function writeSecret(
	{ client, namespace, source }: MoveRequest,
	{ keys, shard, shards }: MovePlan,
): Promise<void> {
	const name = keysSecretName(source);
	const secret = await fetchSecret(client, namespace, name);
	const found = keysIn(secret, source);
	if (typeof found !== "object" || found.sourceKey !== keys.sourceKey)
		throw new MoveRefusal(
			`Secret "${name}" of namespace "${namespace}" was replaced meanwhile. Nothing was written. Repeat the command.`,
		);
	await client.patch(
		kinds.secret,
		name,
		namespace,
		shardsPatch(shard, shards, secret!.metadata.resourceVersion!),
		"merge",
		{ fieldManager },
	);
}

async function untilRouteFollows(
	{ nats, source }: MoveRequest,
	{ keys: { sourceKey }, shard }: MovePlan,
): Promise<void> {
	const routes = await new Kvm(nats).open(bucket.routes);
	const deadlineMs = performance.now() + followMs;
	while ((await routeIn(routes, sourceKey))?.shard !== shard) {
		if (performance.now() > deadlineMs)
			throw new MoveRefusal(
				`The Secret and the set of shards are written, and the receivers' route of Source "${source}" doesn't name shard ${shard} after ${followMs / 1_000} s. The operator writes it: check with tidemill doctor that one is running, then repeat the command.`,
			);
		await delay(250);
	}
}

async function routeIn(
	routes: KV,
	sourceKey: string,
): Promise<Route | undefined> {
	const entry = await routes.get(routeKey(sourceKey));
	return entry?.operation === "PUT" ? entry.json<Route>() : undefined;
}

/** `tidemill operator move`: has the new events of a Source go to another shard. It reads the operator's settings and runs beside it. */
export async function main(options: {
	namespace: string;
	source: string;
	shard: string;
}): Promise<number> {
	const settings = new Settings();
	const log = createLog("move");
	const { shards } = readOperatorSettings(settings, log);
	const config = loadKubeConfig(settings.optional("KUBECONFIG"));
	const userAgent = "tidemill-operator";
	const client = KubeClient.fromConfig(config, { userAgent });
	const nats = await connectNats(settings, "operator", log);
	try {
		const plan = await move({ client, nats, log, shards, ...options });
		const { namespace, source } = options;
		console.log(
			`New events of Source "${source}" of namespace "${namespace}" go to shard ${plan.shard}. Its events may be in shards ${plan.shards.join(" and ")}.`,
		);
		return 0;
	} catch (error) {
		if (!(error instanceof MoveRefusal)) throw error;
		console.error(`tidemill operator move: ${error.message}`);
		return 1;
	} finally {
		await nats.close();
	}
}
