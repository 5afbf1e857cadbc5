// On a laptop nothing proves this: a real node needs root, containerd and networks of its own.
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import {
	brokenPromises,
	type PlainRow,
} from "../support/senders/persistent-sender.ts";
import type { Quickstart } from "../support/senders/quickstart.ts";
import { importImage } from "./cluster/node.ts";
import { locateNodeHome } from "./cluster/node-home.ts";
import { earlierVersion } from "./images/earlier.ts";
import { kubectl } from "./support/cluster.ts";
import {
	inSystem,
	installChart,
	removeInstallation,
	rolledOut,
	sharedObjects,
	systemNamespace,
	thisVersion,
} from "./support/installation.ts";
import { applyExamples, makeShop, removeShop } from "./support/shop.ts";
import { startTraffic, type Traffic } from "./support/traffic.ts";

/* From an earlier commit's chart and image to this one's. Only a node of our own has that image. */

/** One policy for all kinds stands in the place of these. */
const isOldPolicy = /\/tidemill-(admin-tokens|editor-secrets) /;

const earlier = inject("cluster").isOwn ? await earlierVersion() : undefined;
let quickstart: Quickstart;
let traffic: Traffic;

beforeAll(async () => {
	if (!earlier) return;
	await importImage(locateNodeHome(), earlier.archive);
	await removeShop();
	await removeInstallation();
	await makeShop();
	await installChart(earlier);
	quickstart = await applyExamples();
	traffic = startTraffic(quickstart);
});

afterAll(() => traffic?.stop());

test.skipIf(!earlier)(
	"an upgrade from an earlier version under load keeps the URL, and fails requests only while the one NATS server restarts",
	async () => {
		const before = await natsPods();
		const shared = await sharedObjects();
		const failed = await traffic.during(
			`upgraded from ${earlier!.commit.slice(0, 7)}`,
			async () => {
				expect(await quickstart.runPipeline()).toBeGreaterThan(0);
				await installChart({ ...thisVersion, values: earlier!.values });
			},
		);
		if ((await natsPods()) === before) expect(failed).toBe(0);
		const { webhookURL } = await applyExamples();
		expect(webhookURL).toBe(quickstart.webhookURL);
		// The operator's own roles have other names now. What people use is the same as before.
		expect(shared).toHaveLength(15);
		const kept = shared.filter((one) => !isOldPolicy.test(one));
		expect(kept).toHaveLength(11);
		expect(await sharedObjects()).toEqual(expect.arrayContaining(kept));
		const roles = await kubectl("get", "clusterroles", "--output=name");
		expect(roles).toContain(`/${systemNamespace}:tidemill-operator\n`);
		expect(roles).not.toContain("/tidemill-operator");
		expect(await quickstart.runPipeline()).toBeGreaterThan(0);
	},
);

test.skipIf(!earlier)("a rollout of receive fails no request", async () => {
	const failed = await traffic.during("receive rolled out", async () => {
		const receive = "deployment/tidemill-receive";
		await inSystem("rollout", "restart", receive);
		await rolledOut(receive);
	});
	expect(failed).toBe(0);
});

test.skipIf(!earlier)(
	"then each event that either version acknowledged is in the table once",
	async () => {
		await traffic.stop();
		await quickstart.runPipeline();
		const rows = await quickstart.query<PlainRow>(
			"select event_id, md5(body) as digest from $table",
		);
		const { acknowledged, unknown } = traffic.sent;
		console.log(
			`${acknowledged.size} events acknowledged, ${unknown.size} unknown, ${rows.length} rows`,
		);
		expect(brokenPromises(rows, traffic.sent)).toEqual([]);
	},
);

/** Their uids: a Pod of a StatefulSet that is replaced keeps its name. */
function natsPods(): Promise<string> {
	return inSystem(
		"get",
		"pods",
		"--selector=app.kubernetes.io/component=nats",
		"--output=jsonpath={.items[*].metadata.uid}",
	);
}
