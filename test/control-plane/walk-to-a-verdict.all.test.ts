import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import {
	type Source,
	sourceKind,
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { main as receive } from "../../ingest/receive/main.ts";
import { freePort } from "../../local/machine/ports.ts";
import { main as operate } from "../../operator/main.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { longLease } from "../support/fixtures/control-plane/operator-fixture.ts";
import {
	connectAdmin,
	createShardStream,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import { startNats, type TestNats } from "../support/servers/servers.ts";
import { executedFiles } from "../support/walks/executed-files.ts";
import { expectWalk } from "../support/walks/walk-of.ts";

const wait = { timeout: 120_000, interval: 50 };
const client = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const namespace = `walk-${randomBytes(4).toString("hex")}`;
let nats: TestNats;
let url: string;
let roles: Promise<number>[];

/** The operator and receive, in this process: V8 sees what they execute. */
beforeAll(async () => {
	await client.create(kinds.namespace, { metadata: { name: namespace } });
	nats = await startNats();
	const admin = await connectAdmin(nats);
	await createShardStream(admin);
	await admin.close();
	const port = await freePort();
	url = `http://127.0.0.1:${port}`;
	setEnvironment({
		KUBECONFIG: inject("kubeconfig"),
		NATS_URL: nats.urlFor("operator"),
		TIDEMILL_RECEIVE_URL: url,
		TIDEMILL_IMAGE: "tidemill.local/tidemill:test",
		WATCH_NAMESPACES: namespace,
		LEASE_NAMESPACE: namespace,
		HEALTH_PORT: "0",
		RECEIVE_PORT: String(port),
		RECEIVE_SHUTDOWN_DELAY_MS: "0",
		LOG_LEVEL: "warn",
		...longLease,
	});
	roles = [operate()];
	await applyPlan({ type: "object" });
	await client.create<Source>(sourceKind, {
		metadata: { name: "shop", namespace },
		spec: {
			type: "Webhook",
			webhook: { trackingPlanRef: { name: "orders" } },
		},
	} as Source);
	await vi.waitFor(async () => {
		const source = await client.get<Source>(sourceKind, "shop", namespace);
		expect(source?.status?.phase).toBe("Active");
	}, wait);
	setEnvironment({ NATS_URL: nats.urlFor("receive") });
	roles.push(receive());
	await vi.waitFor(async () => expect(await post({ id: "1" })).toBe(200), wait);
}, 240_000);

afterAll(async () => {
	process.emit("SIGTERM");
	await Promise.all(roles);
	await nats.stop();
	// The files after this one run in the same process.
	vi.unstubAllEnvs();
}, 60_000);

function setEnvironment(values: Record<string, string>): void {
	for (const [name, value] of Object.entries(values)) vi.stubEnv(name, value);
}

async function applyPlan(schema: object): Promise<void> {
	const spec = {
		eventType: { constant: "order" },
		events: [{ type: "order", schema }],
		onViolation: "Reject",
	};
	const found = await client.get<TrackingPlan>(
		trackingPlanKind,
		"orders",
		namespace,
	);
	if (found)
		await client.patch(
			trackingPlanKind,
			"orders",
			namespace,
			{ spec },
			"merge",
		);
	else
		await client.create(trackingPlanKind, {
			metadata: { name: "orders", namespace },
			spec,
		} as TrackingPlan);
}

async function post(body: object): Promise<number> {
	const source = await client.get<Source>(sourceKind, "shop", namespace);
	const { pathname } = new URL(source!.status!.webhookURL!);
	return (await sendJSON(url + pathname, JSON.stringify(body))).status;
}

test("CONTRIBUTING.md tells the whole way from a plan's schema to the verdict on an event", async () => {
	const executed = await executedFiles(async () => {
		await applyPlan({ properties: { id: { type: "integer" } } });
		await vi.waitFor(
			async () => expect(await post({ id: "1" })).toBe(400),
			wait,
		);
	});
	expectWalk(/verdict/, executed);
});
