// In make test: operator/health.test.ts
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { operatorLeaseSelector } from "../../crds/installation-claims.ts";
import { freePort } from "../../local/machine/ports.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { firing, scrape } from "../support/alerts/firing.ts";
import { commandsIn, runbookOf } from "../support/alerts/runbook.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

const alert = "TidemillClockOff";
const soon = { timeout: 120_000, interval: 500 };
const preload = join(
	import.meta.dirname,
	"../faults/chaos/scene/clock-preload.ts",
);
let world: OperatorWorld;

beforeAll(async () => {
	world = await OperatorWorld.start({ archive: "none", node: "none" });
	// Beside Leases of the chart's operators, which other files have left, doctor looks at no other.
	const { items } = await world.client.list(kinds.lease, {
		labelSelector: operatorLeaseSelector,
	});
	for (const { metadata } of items)
		await world.client.delete(kinds.lease, metadata.name, metadata.namespace);
});

afterAll(() => world?.stop());

test("an operator whose clock is an hour behind says so on /readyz, fires an alert, and its runbook's doctor names it, until the clock is right", async () => {
	const [account] = world.accounts;
	// It is named where the cluster has several.
	const operator = `operator(?: ${account}/tidemill-operator)?`;
	const clock = join(await temporaryDirectory("clock"), "clock");
	await writeFile(clock, String(-3_600_000));
	const port = await freePort();
	world.startOperator(undefined, {
		env: {
			HEALTH_PORT: String(port),
			CHAOS_CLOCK: clock,
			NODE_OPTIONS: `--import ${preload}`,
			// Renewed often enough for the test.
			LEASE_DURATION_SECONDS: "30",
		},
	});
	const health = `http://127.0.0.1:${port}`;
	const ready = async () => {
		const answer = await fetch(`${health}/readyz`);
		return `${answer.status} ${await answer.text()}`;
	};
	const doctor = async () => {
		const [look = ""] = commandsIn(runbookOf(alert), {
			"tidemill-system": account,
		});
		return (await world.runCommand(...look.split(" ").slice(1)).ended).stdout;
	};
	await vi.waitFor(async () => {
		expect(await ready()).toMatch(
			/^200 ok: this node's clock is 3[56]\d\d s behind the apiserver's/,
		);
		expect(await firing(await scrape(health))).toContain(alert);
		expect(await doctor()).toMatch(
			new RegExp(
				`clock of ${operator}: it is 3[56]\\d\\d s behind the apiserver's`,
			),
		);
	}, soon);
	// It runs, and isn't taken for one that was last heard an hour ago.
	expect(await doctor()).toMatch(new RegExp(`✓ ${operator}: .* is running`));

	await writeFile(clock, "0");
	await vi.waitFor(async () => {
		expect(await ready()).toBe("200 ok\n");
		expect(await firing(await scrape(health))).not.toContain(alert);
		expect(await doctor()).not.toMatch(new RegExp(`clock of ${operator}`));
	}, soon);
});
