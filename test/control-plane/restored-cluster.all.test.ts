// In make test: operator/source/routes/restore-guard.test.ts
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { sourceKind } from "../../crds/generated/types.ts";
import { freePort } from "../../local/machine/ports.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { routeKey, syncedKey } from "../../packages/contracts/route.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { republished } from "../../packages/streams/made-streams.ts";
import { firing, scrape } from "../support/alerts/firing.ts";
import { commandsIn, runbookOf } from "../support/alerts/runbook.ts";
import { routeWith } from "../support/examples/route-example.ts";
import { routesIn } from "../support/fixtures/control-plane/cluster-state.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";

const alert = "TidemillRestoreAwaited";
const soon = { timeout: 120_000, interval: 50 };
let world: OperatorWorld;

beforeAll(async () => {
	world = await OperatorWorld.start({ archive: "none", node: "none" });
});

afterAll(() => world?.stop());

test("on another cluster's etcd no route goes, until a person runs the command of the runbook of the alert that fires", async () => {
	const [account] = world.accounts;
	const routes = await new Kvm(world.connection).create(
		bucket.routes,
		republished(bucket.routes),
	);
	const missing = routeWith("url", "0".repeat(32), { source: "missing" });
	await routes.put(routeKey(missing.sourceKey), JSON.stringify(missing));
	await routes.put(syncedKey, JSON.stringify({ cluster: "another" }));
	const served = async () =>
		Object.keys((await routesIn(world.connection)).routes).toSorted();
	const mark = async () => (await routes.get(syncedKey))?.json();
	const said = async () => {
		const lease = await world.client.get(
			kinds.lease,
			"tidemill-operator",
			account,
		);
		return lease?.metadata.annotations?.["tidemill.dev/restore"];
	};

	const port = await freePort();
	world.startOperator(undefined, { env: { HEALTH_PORT: String(port) } });
	const health = `http://127.0.0.1:${port}`;
	const ready = async () => {
		const answer = await fetch(`${health}/readyz`);
		return [answer.status, await answer.text()];
	};
	await world.apply(
		account,
		"apiVersion: tidemill.dev/v1alpha1\nkind: Source\nmetadata: { name: orders }\nspec: { type: Webhook }",
	);
	await vi.waitFor(async () => {
		expect(await served()).toEqual(["missing", "orders"]);
		expect(await mark()).toEqual({ cluster: "another", isRestoring: true });
		expect(await said()).toBe("awaited");
	}, soon);
	// Flux and Argo CD bring the other resources only once the release is healthy.
	expect(await ready()).toEqual([
		200,
		expect.stringContaining("tidemill restore --complete"),
	]);

	expect(await firing(await scrape(health))).toContain(alert);
	const word = commandsIn(runbookOf(alert), { "tidemill-system": account })
		.find((command) => command.startsWith("tidemill restore"))!
		.split(" ")
		.slice(1);
	const { exitCode, stderr } = await world.runCommand(...word).ended;
	expect([exitCode, stderr]).toEqual([0, ""]);
	const found = await world.client.get(kinds.namespace, "kube-system");
	await vi.waitFor(async () => {
		expect(await served()).toEqual(["orders"]);
		expect(await mark()).toEqual({ cluster: found!.metadata.uid });
		expect(await ready()).toEqual([200, "ok\n"]);
	}, soon);
	expect(await firing(await scrape(health))).not.toContain(alert);

	// From then on what goes is closed at once, also the last one.
	await world.client.delete(sourceKind, "orders", account);
	await vi.waitFor(async () => {
		expect(await served()).toEqual([]);
		expect(await said()).toBeUndefined();
	}, soon);
});
