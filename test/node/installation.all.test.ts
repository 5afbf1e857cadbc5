// On a laptop nothing proves this: a real node needs root, containerd and networks of its own.
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
import type { DoctorFinding } from "../../cli/doctor/finding.ts";
import { documented } from "../support/examples/documented.ts";
import { runDocumented } from "../support/examples/documented-commands.ts";
import { githubPayloads } from "../support/examples/github-payloads.ts";
import { sendJSON, untilKnown } from "../support/senders/http-client.ts";
import {
	brokenPromises,
	md5,
	newSent,
	type PlainRow,
	sendPersistently,
} from "../support/senders/persistent-sender.ts";
import type { Quickstart } from "../support/senders/quickstart.ts";
import { runCommandIn } from "../support/servers/kubectl.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";
import {
	apply,
	clusterTest,
	get,
	kubectl,
	makeNamespace,
} from "./support/cluster.ts";
import {
	deletePods,
	evictPods,
	killLeader,
	restartKubelet,
	scale,
} from "./support/disturbances.ts";
import { doctorIn } from "./support/doctor.ts";
import {
	inSystem,
	installAsDocumented,
	installBeside,
	installBroken,
	installChart,
	podsOf,
	removeInstallation,
	rolledOut,
	sharedObjects,
	systemNamespace,
	testChart,
	uninstallChart,
} from "./support/installation.ts";
import { enforceNetworkPolicies, reachable } from "./support/reach.ts";
import { serviceURL } from "./support/service.ts";
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
const soon = { timeout: 90_000, interval: 500 };
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

describe.skipIf(!isOwn)("an installation that doesn't come up", () => {
	let doctor: () => Promise<DoctorFinding[]>;

	beforeAll(async () => {
		await kubectl("create", "namespace", systemNamespace);
		doctor = await doctorIn(systemNamespace);
	});

	test("because setup has no image, is told after Helm has given up, and leaves nothing of setup", async () => {
		onTestFinished(() => uninstallChart());
		await expect(
			installAsDocumented("--set=image.tag=none", "--timeout=15s"),
		).rejects.toThrow(/pre-install/);
		await vi.waitFor(
			async () =>
				expect(await failures(doctor)).toContainEqual(
					expect.stringMatching(
						/^pod tidemill-setup-\S+: .*Failed to pull image "ghcr\.io\/tidemill\/tidemill:none"/,
					),
				),
			soon,
		);
		await uninstallChart();
		expect(await leftOfSetup()).toEqual([]);
	});

	test("is told Pod by Pod: no image, no room, no storage class", async () => {
		onTestFinished(() => uninstallChart());
		await installBroken(
			"s3.image.tag=none",
			"receive.resources.requests.cpu=100",
			"nats.storage.storageClassName=nowhere",
		);
		await vi.waitFor(async () => {
			const found = await failures(doctor);
			for (const [pod, words] of [
				["tidemill-s3-0", /PullBackOff|ErrImagePull/],
				["tidemill-receive-", /Unschedulable: .*Insufficient cpu/],
				["tidemill-nats-0", /storageclass\S* "nowhere" not found/],
			] as const)
				expect(found.find((line) => line.startsWith(`pod ${pod}`))).toMatch(
					words,
				);
		}, soon);
		await uninstallChart();
		expect(await leftOfSetup()).toEqual([]);
		const secrets = await inSystem("get", "secrets", "--output=name");
		expect(secrets).toContain("secret/tidemill-seal-key");
		await inSystem("delete", "persistentvolumeclaims", "--all");
	});
});

clusterTest("a helm install leads to a row", async () => {
	const startedMs = performance.now();
	const seconds = () => ((performance.now() - startedMs) / 1000).toFixed(1);
	await installAsDocumented();
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

clusterTest(
	"a RoleBinding that is gone is told by kubectl describe within 10 s, and the command there brings all back",
	async () => {
		const bindings = await kubectl(
			...["get", "rolebindings", "--output=name", `--namespace=${namespace}`],
		);
		const [binding] = bindings.match(/\S+-operator-in-namespace$/m) ?? [];
		await kubectl("delete", binding!, `--namespace=${namespace}`);
		const message = await vi.waitFor(
			async () => {
				const described = await kubectl(
					...["describe", "source/shop", `--namespace=${namespace}`],
				);
				const [, found] =
					/Message: +(The operator .*)\n.*\n? +Reason: +NotPermitted/.exec(
						described,
					) ?? [];
				if (!found) throw new Error(described);
				return found;
			},
			{ timeout: 10_000, interval: 250 },
		);
		expect(message).toContain(`may not in namespace "${namespace}"`);
		await runCommandIn(message, inject("cluster").kubeconfig!);
		await kubectl(
			...["wait", "source/shop", `--namespace=${namespace}`],
			...["--for=condition=Ready", "--timeout=60s"],
		);
		await quickstart.runPipeline();
	},
);

test.skipIf(!isOwn)(
	"without an operator, uninstalling is refused while a Source needs one, and the URL of a deleted Source is closed by the documented commands",
	async () => {
		const source = (name: string, deletionPolicy: string) => ({
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Source",
			metadata: { name, namespace },
			spec: { type: "Webhook", deletionPolicy },
		});
		await apply(source("needs", "Delete"), source("gone", "Retain"));
		const inShop = `--namespace=${namespace}`;
		await kubectl(
			...["wait", "source/needs", "source/gone", inShop],
			...["--for=condition=Ready", "--timeout=60s"],
		);
		const { status } = await get<{ status: { webhookURL: string } }>(
			...["source/gone", inShop],
		);
		const { pathname } = new URL(status.webhookURL);
		const receive = await serviceURL("tidemill-receive", systemNamespace);
		const url = `${receive}${pathname}`;
		await untilKnown(url);
		await scale("operator", 0);
		await expect(uninstallChart()).rejects.toThrow(`Source ${namespace}/needs`);
		await kubectl("delete", "source/gone", inShop);
		expect((await sendJSON(url, "{}")).status).toBe(200);

		const { kubeconfig } = inject("cluster");
		const [close, open] = documented(
			"docs/troubleshooting.md#close-a-url-while-no-operator-runs sh",
		);
		const key = pathname.split("/")[2]!;
		await runDocumented(
			close!.text.replace(/\b[0-9a-f]{32}\b/, key),
			kubeconfig!,
		);
		// A receiver that is told to stop answers for some seconds more.
		await vi.waitFor(
			async () => expect((await sendJSON(url, "{}")).status).toBe(404),
			soon,
		);
		expect((await sendJSON(quickstart.webhookURL, "{}")).status).toBe(200);
		await runDocumented(open!.text, kubeconfig!);
		await scale("operator", 1);
		await rolledOut("deployment/tidemill-receive");
		await kubectl("delete", "source/needs", inShop, "--timeout=120s");
		await vi.waitFor(
			async () => expect((await sendJSON(url, "{}")).status).toBe(404),
			soon,
		);
	},
);

test.skipIf(!isOwn)(
	"a second release serves its own namespace, leaves the first one's alone, and both tell",
	async () => {
		const two = "tidemill-two";
		const shared = await sharedObjects();
		await makeNamespace("billing");
		await installBeside(
			two,
			"--set=operator.watchNamespaces={billing,shop}",
			// Less to wait for.
			"--set=receive.replicas=1,api.replicas=0,notify.replicas=0",
			...["--wait", "--timeout=3m"],
		);
		await apply({
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Source",
			metadata: { name: "invoices", namespace: "billing" },
			spec: { type: "Webhook" },
		});
		await kubectl(
			...["wait", "source/invoices", "--namespace=billing"],
			...["--for=condition=Ready", "--timeout=60s"],
		);
		const { status } = await get<{ status: { webhookURL: string } }>(
			...["source/invoices", "--namespace=billing"],
		);
		const { pathname } = new URL(status.webhookURL);
		const url = `${await serviceURL("tidemill-receive", two)}${pathname}`;
		await untilKnown(url);
		expect((await sendJSON(url, "{}")).status).toBe(200);
		const notes = [
			"belongs to this installation",
			"so this installation doesn't serve it",
		];
		for (const [n, namespace] of [systemNamespace, two].entries())
			await vi.waitFor(
				async () =>
					expect(
						await kubectl(
							...["describe", "deployment/tidemill-operator"],
							`--namespace=${namespace}`,
						),
					).toContain(notes[n]),
				soon,
			);
		const { stdout } = await startTidemill([
			...["doctor", `--kubeconfig=${inject("cluster").kubeconfig}`],
		]).ended;
		expect(stdout).toContain(
			`✗ namespace shop: ${systemNamespace}/tidemill-operator claimed it first, so ${two}/tidemill-operator`,
		);
		// The first one goes on, and has what both share when the second is gone.
		await quickstart.runPipeline();
		await kubectl("delete", "namespace", "billing", "--timeout=60s");
		await uninstallChart(two);
		await kubectl("delete", "namespace", two, "--wait=false");
		expect(await sharedObjects()).toEqual(shared);
		await quickstart.runPipeline();
	},
);

test.skipIf(!isOwn)(
	"a Pod of another namespace reaches receive, the API and the bucket's server, and nothing else",
	async () => {
		const host = (service: string) =>
			`tidemill-${service.replace(":", `.${systemNamespace}:`)}`;
		const open = ["receive:80", "api:80", "s3:7070"].map(host);
		const { items } = await get<{ items: HealthyPod[] }>(
			"pods",
			`--namespace=${systemNamespace}`,
			"--selector=app.kubernetes.io/component in (receive, archive, operator, api, notify)",
		);
		// One that ends, after the rollout of an earlier test, listens no more.
		const health = items
			.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
			.map(({ status }) => `${status.podIP}:8081`);
		const targets = [...open, host("nats:4222"), ...health];
		expect(await reachable(targets, namespace, "reach-without")).toEqual(
			targets,
		);
		onTestFinished(await enforceNetworkPolicies());
		expect(await reachable(targets, namespace, "reach-with")).toEqual(open);
		await quickstart.runPipeline();
	},
);

interface HealthyPod {
	metadata: { deletionTimestamp?: string };
	status: { podIP: string };
}

/** `<check>: <message>`. */
async function failures(
	doctor: () => Promise<DoctorFinding[]>,
): Promise<string[]> {
	return (await doctor())
		.filter(({ result }) => result === "failed")
		.map(({ check, message }) => `${check}: ${message}`);
}

async function leftOfSetup(): Promise<string[]> {
	const names = await inSystem(
		...["get", "--output=name"],
		"jobs,pods,roles,rolebindings,serviceaccounts",
	);
	return names.split("\n").filter((name) => name.includes("setup"));
}

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
