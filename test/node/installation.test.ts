import {
	afterAll,
	beforeAll,
	describe,
	expect,
	inject,
	onTestFinished,
	test,
	vi,
} from "vitest";
import { githubPayloads } from "../support/examples/github-payloads.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import {
	brokenPromises,
	md5,
	newSent,
	type PlainRow,
	sendPersistently,
} from "../support/senders/persistent-sender.ts";
import type { Quickstart } from "../support/senders/quickstart.ts";
import { clusterTest, get } from "./support/cluster.ts";
import {
	deletePods,
	evictPods,
	killLeader,
	restartKubelet,
	scale,
} from "./support/disturbances.ts";
import {
	installChart,
	podsOf,
	removeInstallation,
	rolledOut,
	systemNamespace,
	testChart,
	uninstallChart,
} from "./support/installation.ts";
import { enforceNetworkPolicies, reachable } from "./support/reach.ts";
import {
	applyExamples,
	endOf,
	makeShop,
	namespace,
	removeShop,
	setSchedule,
} from "./support/shop.ts";
import { startTraffic, type Traffic } from "./support/traffic.ts";

/* Tidemill as the chart installs it, from its first minute on. Each test goes on where the one before it has ended. */

const { isOwn } = inject("cluster");
const rowsQuery = "select event_id, md5(body) as digest from $table";
/** Of all tests so far. */
const sent = newSent();
let quickstart: Quickstart;

beforeAll(async () => {
	if (isOwn) {
		await removeShop();
		await removeInstallation();
	} else await uninstallChart();
	await makeShop();
});

clusterTest("a helm install leads to a row", async () => {
	const startedMs = performance.now();
	const seconds = () => ((performance.now() - startedMs) / 1000).toFixed(1);
	await installChart();
	console.log(`helm install: all Pods are ready after ${seconds()} s`);
	quickstart = await applyExamples();
	const body = '{"order": 1}';
	const sentAtMs = Date.now();
	const { status, json } = await sendJSON(quickstart.webhookURL, body);
	expect(status).toBe(200);
	const answeredAtMs = Date.now();
	const digest = md5(body);
	sent.acknowledged.set(json.event_id, { digest, sentAtMs, answeredAtMs });
	expect(await quickstart.runPipeline()).toBe(1);
	console.log(`helm install: the first row after ${seconds()} s`);
	expect(await quickstart.query(rowsQuery)).toEqual([
		{ event_id: json.event_id, digest },
	]);
});

clusterTest("helm test passes", () => testChart());

clusterTest(
	"events sent to the Service are in the table after a scheduled Run",
	async () => {
		await setSchedule({ type: "Interval", interval: "1m" });
		onTestFinished(() => setSchedule({ type: "Manual" }));
		const bodies = githubPayloads().map(({ value }, n) =>
			JSON.stringify({ n, value }),
		);
		let taken = 0;
		await sendPersistently({
			urls: [quickstart.webhookURL],
			senders: 4,
			body: (n) => bodies[n % bodies.length]!,
			isDone: () => ++taken > bodies.length,
			sent,
		});
		expect(sent.unknown.size).toBe(0);
		const sentAllMs = Date.now();
		const run = await vi.waitFor(() => scheduledRunAfter(sentAllMs), {
			timeout: 150_000,
			interval: 500,
		});
		expect(await endOf(run)).toMatchObject({ phase: "Succeeded" });
		const rows = await quickstart.query<PlainRow>(rowsQuery);
		expect(brokenPromises(rows, sent)).toEqual([]);
	},
);

describe("while events come in", () => {
	let traffic: Traffic;

	beforeAll(() => {
		traffic = startTraffic(quickstart);
	});
	afterAll(() => traffic?.stop());

	clusterTest("receive's Pods are deleted, and no request fails", async () => {
		expect(
			await traffic.during("receive's Pods deleted one by one", async () => {
				for (const pod of await podsOf("receive")) await deletePods([pod]);
			}),
		).toBe(0);
	});

	clusterTest("receive's Pods are evicted, and no request fails", async () => {
		expect(
			await traffic.during("receive's Pods evicted", () =>
				evictPods("receive"),
			),
		).toBe(0);
	});

	clusterTest("receive is scaled 1, 4, 1, and no request fails", async () => {
		expect(
			await traffic.during("receive scaled 2, 1, 4, 1, 2", async () => {
				for (const replicas of [1, 4, 1, 2]) await scale("receive", replicas);
			}),
		).toBe(0);
	});

	test.skipIf(!isOwn)(
		"the leading operator is killed, and Runs go on",
		async () => {
			expect(
				await traffic.during("the leading operator killed", async () => {
					const seconds = await killLeader();
					console.log(`another operator leads after ${seconds.toFixed(1)} s`);
					await quickstart.runPipeline();
				}),
			).toBe(0);
		},
	);

	clusterTest(
		"archive and the API are deleted, and no request fails",
		async () => {
			expect(
				await traffic.during("archive and the API deleted", async () => {
					await Promise.all(
						["archive", "api"].map(async (component) =>
							deletePods(await podsOf(component)),
						),
					);
				}),
			).toBe(0);
		},
	);

	test.skipIf(!isOwn)("kubelet is killed, and no request fails", async () => {
		expect(await traffic.during("kubelet killed", restartKubelet)).toBe(0);
	});

	clusterTest(
		"the bucket's server is deleted, and no request fails",
		async () => {
			expect(
				await traffic.during("the bucket's server deleted", async () =>
					deletePods(await podsOf("s3")),
				),
			).toBe(0);
		},
	);

	clusterTest("NATS is deleted, and comes back", async () => {
		await traffic.during("NATS deleted", async () => {
			await deletePods(await podsOf("nats"));
			await rolledOut("deployment/tidemill-receive");
		});
	});

	clusterTest("then each acknowledged event is in the table once", async () => {
		await traffic.stop();
		await quickstart.runPipeline();
		const rows = await quickstart.query<PlainRow>(rowsQuery);
		const { acknowledged, rejected, unknown } = traffic.sent;
		console.log(
			`${acknowledged.size} events acknowledged, ${unknown.size} unknown, ${rows.length} rows`,
		);
		for (const [id, event] of acknowledged) sent.acknowledged.set(id, event);
		for (const digest of rejected) sent.rejected.add(digest);
		for (const digest of unknown) sent.unknown.add(digest);
		expect(brokenPromises(rows, sent)).toEqual([]);
	});
});

clusterTest(
	"uninstalled and installed again, Tidemill has the same URLs and all events",
	async () => {
		const before = await quickstart.query<PlainRow>(rowsQuery);
		const path = ({ webhookURL }: Quickstart) => new URL(webhookURL).pathname;
		const url = path(quickstart);
		await uninstallChart();
		await installChart();
		// The Service has another address.
		quickstart = await applyExamples();
		expect(path(quickstart)).toBe(url);
		const body = '{"order": 2}';
		const sentAtMs = Date.now();
		const { status, json } = await sendJSON(quickstart.webhookURL, body);
		expect(status).toBe(200);
		const event = { digest: md5(body), sentAtMs, answeredAtMs: Date.now() };
		sent.acknowledged.set(json.event_id, event);
		// It replaces today's rows by those in the bucket. One whose sender was not answered while NATS was away may be there by now.
		await quickstart.runPipeline();
		const rows = await quickstart.query<PlainRow>(rowsQuery);
		expect(brokenPromises(rows, sent)).toEqual([]);
		const ids = new Set(rows.map(({ event_id }) => event_id));
		expect(before.filter(({ event_id }) => !ids.has(event_id))).toEqual([]);
	},
);

test.skipIf(!isOwn)(
	"a Pod of another namespace reaches receive, the API and the bucket's server, and nothing else",
	async () => {
		const host = (service: string) =>
			`tidemill-${service.replace(":", `.${systemNamespace}:`)}`;
		const open = ["receive:80", "api:80", "s3:7070"].map(host);
		const { items } = await get<{ items: { status: { podIP: string } }[] }>(
			"pods",
			`--namespace=${systemNamespace}`,
			"--selector=app.kubernetes.io/component in (receive, archive, operator, api, notify)",
		);
		const health = items.map(({ status }) => `${status.podIP}:8081`);
		const targets = [...open, host("nats:4222"), ...health];
		expect(await reachable(targets, namespace, "reach-without")).toEqual(
			targets,
		);
		onTestFinished(await enforceNetworkPolicies());
		expect(await reachable(targets, namespace, "reach-with")).toEqual(open);
		await quickstart.runPipeline();
	},
);

/** The name of a Run that the schedule has started after this time. */
async function scheduledRunAfter(timeMs: number): Promise<string> {
	const { items } = await get<{ items: Run[] }>(
		"runs.tidemill.dev",
		`--namespace=${namespace}`,
	);
	const found = items.find(
		({ status }) =>
			status?.trigger === "Schedule" &&
			Date.parse(status.startTime ?? "") > timeMs,
	);
	if (!found) throw new Error("no Run has started by the schedule");
	return found.metadata.name;
}

interface Run {
	metadata: { name: string };
	status?: { trigger?: string; startTime?: string };
}
