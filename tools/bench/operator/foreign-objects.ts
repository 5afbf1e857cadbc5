import { setTimeout as delay } from "node:timers/promises";
import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import {
	type Source,
	sourceKind,
	trackingPlanKind,
} from "../../../crds/generated/types.ts";
import { label } from "../../../crds/labels.ts";
import { bucket } from "../../../packages/contracts/nats.ts";
import { routeKey } from "../../../packages/contracts/route.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { KubeClient } from "../../../packages/kube/client/client.ts";
import { kinds, type Secret } from "../../../packages/kube/kinds.ts";
import {
	type KubeObject,
	type ResourceKind,
	resourcePath,
} from "../../../packages/kube/resource.ts";
import {
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { memory } from "../measure/process-cost.ts";
import { apply } from "./creation.ts";
import { namespace, source } from "./objects.ts";
import type { OperatorProcess } from "./operator-process.ts";
import { until } from "./watch.ts";

const foreign = "foreign";
const count = Number(process.env.BENCH_OBJECTS || 400);
const megabyte = Buffer.alloc(1_000_000, "x").toString("base64");
const labels = { [label.use]: "true" };

type Objects = [ResourceKind<KubeObject>, KubeObject & object][];

/** What an account may make, by what it is called. Each kind is deleted before the next comes. */
const foreignObjects: Record<string, (index: number) => Objects> = {
	"unnamed Secrets of 1 MB": (i) => [[kinds.secret, secret(i)]],
	"named Secrets of 1 MB": (i) => [
		[kinds.secret, secret(i)],
		[sourceKind, withToken(`named-${i}`, foreign, `big-${i}`)],
	],
	"resources with 250 KB of annotations": (i) => {
		const annotations = Object.fromEntries(
			Array.from({ length: 5 }, (_, n) => [`note-${n}`, "x".repeat(50_000)]),
		);
		const metadata = { name: `noted-${i}`, namespace: foreign, annotations };
		const spec = source("").spec;
		return i % 2 === 0
			? [[sourceKind, { metadata, spec } as KubeObject]]
			: [[kinds.serviceAccount, { metadata }]];
	},
	"TrackingPlans of 1 MB": (i) => {
		const one = { type: "string", description: "x".repeat(5_000) };
		const properties = Object.fromEntries(
			Array.from({ length: 195 }, (_, n) => [`p${n}-${i}`, one]),
		);
		const plan = {
			metadata: { name: `plan-${i}`, namespace: foreign },
			spec: {
				eventType: { constant: "all" },
				common: { type: "object", properties },
			},
		};
		return [[trackingPlanKind, plan]];
	},
};

function secret(index: number): KubeObject {
	const token = Buffer.from(`token-of-more-than-16-${index}`).toString(
		"base64",
	);
	return {
		metadata: { name: `big-${index}`, namespace: foreign, labels },
		data: { token, megabyte },
	} as KubeObject;
}

function withToken(name: string, namespace: string, secretName: string) {
	return {
		metadata: { name, namespace },
		spec: {
			type: "Webhook",
			webhook: {
				authorization: {
					type: "CustomToken",
					customToken: { secretRef: { name: secretName, key: "token" } },
				},
			},
		},
	} as KubeObject;
}

/** What objects of one account cost the operator, and another account whose tokens it looks after. */
export async function measureForeignObjects({
	client,
	nats,
	compact,
	start,
	say,
}: {
	client: KubeClient;
	nats: NatsConnection;
	compact(): Promise<void>;
	start(): Promise<OperatorProcess>;
	say: Say;
}): Promise<Measurement[]> {
	const own = new OwnAccount(client, nats);
	await client.create(kinds.namespace, { metadata: { name: foreign } });
	let operator = await start();
	await own.create();
	const restarted = async () => {
		await operator.stop();
		operator = await start();
		await delay(15_000);
		return resident();
	};
	const resident = async () =>
		(await memory(operator.pid)).residentBytes / 2 ** 20;
	const alone = await restarted();
	const figures = [figure("resident memory without them", alone, "MiB")];
	const parts = process.env.BENCH_OBJECT_KINDS?.split(",");
	for (const [what, objectsOf] of Object.entries(foreignObjects)) {
		if (parts && !parts.some((part) => new RegExp(`\\b${part}`).test(what)))
			continue;
		const made: Objects = [];
		const creating = mapConcurrently([...Array(count).keys()], 4, async (i) => {
			for (const [kind, object] of objectsOf(i)) {
				made.push([kind, object]);
				await apply(client, kind, object);
			}
		});
		const during = await own.tokenMs();
		await creating;
		await delay(15_000);
		const added = [(await resident()) - alone, (await restarted()) - alone];
		const [now, after] = added as [number, number];
		const { routeMs } = await own.tokenMs();
		const about = `${count} ${what}`;
		const goal = { atMost: 32 };
		figures.push(
			figure(`${about}: resident memory they add`, now, "MiB", goal),
			figure(`${about}: and after a restart`, after, "MiB", goal),
			figure(`${about}: a token's change to its route`, routeMs, "ms", {
				atMost: 1_000,
			}),
			// The apiserver itself is late while it stores large objects.
			compared(
				`${about}: the same while they come`,
				"ms",
				during.routeMs,
				during.watchMs,
			),
			figure(
				`${about}: and from the apiserver's word of it`,
				during.routeMs - during.watchMs,
				"ms",
				{ atMost: 1_000 },
			),
		);
		say(
			`${about}: ${Math.round(now)} and ${Math.round(after)} MiB; ${Math.round(routeMs)} ms, and ${Math.round(during.routeMs)} while they come, of which the apiserver takes ${Math.round(during.watchMs)}`,
		);
		await mapConcurrently(made, 16, ([kind, { metadata }]) =>
			client.delete(kind, metadata.name, metadata.namespace),
		);
		await compact();
	}
	return figures;
}

/** The account whose service must not suffer: a Source with a token. */
class OwnAccount {
	readonly #client: KubeClient;
	readonly #nats: NatsConnection;
	#tokens = 0;

	constructor(client: KubeClient, nats: NatsConnection) {
		this.#client = client;
		this.#nats = nats;
	}

	async create(): Promise<void> {
		const client = this.#client;
		await this.#writeToken();
		await apply(client, sourceKind, withToken("own", namespace, "own-token"));
		await until("the own account has a URL", 120_000, async () =>
			Boolean(await this.#source()),
		);
	}

	/** The longest of five changes until the route has it, in milliseconds, and until what the apiserver tells its watches has it. */
	async tokenMs(): Promise<{ routeMs: number; watchMs: number }> {
		const sourceKey = await this.#source();
		const routes = await new Kvm(this.#nats).open(bucket.routes);
		const revision = async () =>
			(await routes.get(routeKey(sourceKey!)))?.revision;
		const took = { routeMs: 0, watchMs: 0 };
		for (let i = 0; i < 5; i++) {
			const before = await revision();
			const token = await this.#writeToken();
			const startMs = performance.now();
			const since = async (what: string, isTrue: () => Promise<boolean>) => {
				await until(what, 120_000, isTrue);
				return performance.now() - startMs;
			};
			const [routeMs, watchMs] = await Promise.all([
				since(
					"the token is in its route",
					async () => (await revision()) !== before,
				),
				since(
					"the apiserver's memory has the token",
					async () => (await this.#toldToken()) === token,
				),
			]);
			if (routeMs > took.routeMs) Object.assign(took, { routeMs, watchMs });
			await delay(200);
		}
		return took;
	}

	/** As the apiserver has it in the memory by which it answers watches. */
	async #toldToken(): Promise<string | undefined> {
		const path = resourcePath(kinds.secret, namespace, "own-token");
		const query = { resourceVersion: "0" };
		const { data } = (await this.#client.raw("GET", path, { query })) as Secret;
		return data?.token;
	}

	/** Its key, once it has a URL. */
	async #source(): Promise<string | undefined> {
		const found = await this.#client.get<Source>(sourceKind, "own", namespace);
		return found?.status?.webhookURL && found.status.sourceKey;
	}

	/** Returns it. */
	async #writeToken(): Promise<string> {
		const text = `token-of-the-own-account-${this.#tokens++}`;
		const token = Buffer.from(text).toString("base64");
		await apply(this.#client, kinds.secret, {
			metadata: { name: "own-token", namespace, labels },
			data: { token },
		} as KubeObject);
		return token;
	}
}
