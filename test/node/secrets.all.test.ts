// On a laptop nothing proves this: a real node needs root, containerd and networks of its own.
import { afterAll, beforeAll, expect, inject, vi } from "vitest";
import { untilKnown } from "../support/senders/http-client.ts";
import {
	brokenPromises,
	newSent,
	type PlainRow,
	type Sent,
	sendPersistently,
} from "../support/senders/persistent-sender.ts";
import type { Quickstart } from "../support/senders/quickstart.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";
import { apply, clusterTest, get } from "./support/cluster.ts";
import {
	inSystem,
	installChart,
	removeInstallation,
	systemNamespace,
	uninstallChart,
} from "./support/installation.ts";
import {
	applyExamples,
	makeShop,
	namespace,
	removeShop,
} from "./support/shop.ts";

/* Every Secret of the chart is replaced while 20 requests a second come in. */

const { isOwn, kubeconfig } = inject("cluster");
/** Kubelet's own delay included. */
const inEffectMs = 150_000;
/** Our node's kubelet writes a changed Secret within 15 s, one with its defaults within 70 s. */
const settle = isOwn ? "--settle=40" : "--settle=90";
const token = "a token of sixteen bytes";
const senders = 4;
let quickstart: Quickstart;
let sent: Sent;
let stop: () => Promise<void>;

beforeAll(async () => {
	if (kubeconfig === undefined) return;
	if (isOwn) {
		await removeShop();
		await removeInstallation();
	} else await uninstallChart();
	await makeShop();
	await installChart();
	quickstart = await applyExamples();
	const guarded = await applyGuardedSource();
	sent = newSent();
	let isOver = false;
	const sending = sendPersistently({
		urls: [quickstart.webhookURL, guarded],
		senders,
		body: (n) => JSON.stringify({ n }),
		headers: () => ({ authorization: `Bearer ${token}` }),
		isDone: () => isOver,
		sent,
		pauseMs: 190,
	});
	stop = async () => {
		isOver = true;
		await sending;
	};
});

afterAll(() => stop?.());

clusterTest(
	"a corrected Secret and the rotation of each Secret take effect without a restart, and each request is answered",
	async () => {
		const before = await processes();
		await Promise.all([
			rotate("nats-passwords"),
			rotate("nats-certificate"),
			(async () => {
				await rotate("seal-key");
				await rotate("seal-key", "--now");
			})(),
			(async () => {
				await correctStoreKey();
				await rotate("store-keys");
			})(),
		]);
		await vi.waitFor(async () => expect(await unready()).toEqual([]), {
			timeout: inEffectMs,
			interval: 1_000,
		});
		expect(await processes()).toEqual(before);
		console.log(
			`all Secrets replaced: ${sent.acknowledged.size} events acknowledged, ${sent.unknown.size} requests failed, ${sent.unavailable} of them with 503`,
		);
		expect(sent.unknown.size).toBe(sent.unavailable);
		// What is on its way while NATS closes a connection may wait longer than 800 ms on a busy machine, and nothing else may.
		expect(sent.unavailable).toBeLessThanOrEqual(
			senders * (await reconnects()),
		);
	},
);

clusterTest(
	"then NATS's clients have signed in anew, and each acknowledged event is in the table once",
	async () => {
		await stop();
		expect(await reconnects()).toBeGreaterThan(0);
		await quickstart.runPipeline();
		const rows = await quickstart.query<PlainRow>(
			"select event_id, md5(body) as digest from $table",
		);
		// The guarded Source has every second event, and no Pipeline.
		const ids = new Set(rows.map(({ event_id }) => event_id));
		const ours = [...sent.acknowledged].filter(([id]) => ids.has(id));
		expect(ours.length).toBeGreaterThanOrEqual(
			Math.floor(sent.acknowledged.size / 2) - 4,
		);
		expect(
			brokenPromises(rows, { ...sent, acknowledged: new Map(ours) }),
		).toEqual([]);
	},
);

/** How often receive has lost NATS and found it again. */
async function reconnects(): Promise<number> {
	const pods = "--selector=app.kubernetes.io/component=receive";
	const log = await inSystem("logs", pods, "--tail=-1");
	return log.match(/connected to NATS again/g)?.length ?? 0;
}

/** A Source whose senders present a token; returns its URL. */
async function applyGuardedSource(): Promise<string> {
	const metadata = (name: string) => ({ name, namespace });
	await apply(
		{
			apiVersion: "v1",
			kind: "Secret",
			metadata: {
				...metadata("guarded-token"),
				labels: { "tidemill.dev/use": "true" },
			},
			stringData: { token },
		},
		{
			apiVersion: "tidemill.dev/v1alpha1",
			kind: "Source",
			metadata: metadata("guarded"),
			spec: {
				type: "Webhook",
				webhook: {
					authorization: {
						type: "CustomToken",
						customToken: { secretRef: { name: "guarded-token", key: "token" } },
					},
				},
			},
		},
	);
	const webhookURL = await vi.waitFor(
		async () => {
			const { status } = await get<{ status: { webhookURL?: string } }>(
				"source/guarded",
				`--namespace=${namespace}`,
			);
			return new URL(status.webhookURL!).pathname;
		},
		{ timeout: 60_000, interval: 500 },
	);
	const url = new URL(quickstart.webhookURL).origin + webhookURL;
	await untilKnown(url);
	return url;
}

/** The command of docs/rotate-secrets.md. */
async function rotate(...args: string[]): Promise<void> {
	const { exitCode, stdout, stderr } = await startTidemill(
		["setup", "rotate", ...args, settle, `--namespace=${systemNamespace}`],
		{ KUBECONFIG: kubeconfig! },
	).ended;
	console.log(stdout);
	expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
}

/** Somebody breaks the key, archive says so in the store's words, and the corrected one is taken. */
async function correctStoreKey(): Promise<void> {
	const secret = ["secret/tidemill-s3"];
	const right = await inSystem(
		"get",
		...secret,
		"--output=jsonpath={.data.secretAccessKey}",
	);
	const patch = (secretAccessKey: string) =>
		inSystem(
			"patch",
			...secret,
			`--patch=${JSON.stringify({ data: { secretAccessKey } })}`,
		);
	await patch(Buffer.from("wrong").toString("base64"));
	await vi.waitFor(async () => expect(await unready()).toEqual(["archive"]), {
		timeout: inEffectMs,
		interval: 500,
	});
	await patch(right);
	const correctedMs = Date.now();
	await vi.waitFor(async () => expect(await unready()).toEqual([]), {
		timeout: inEffectMs,
		interval: 500,
	});
	console.log(
		`the corrected key of the store was in effect after ${((Date.now() - correctedMs) / 1000).toFixed(0)} s`,
	);
}

interface SystemPods {
	items: {
		metadata: { uid: string; labels: Record<string, string> };
		status: {
			conditions?: { type: string; status: string }[];
			containerStatuses?: { restartCount: number }[];
		};
	}[];
}

async function systemPods() {
	const { items } = await get<SystemPods>(
		"pods",
		`--namespace=${systemNamespace}`,
	);
	return items.map(({ metadata, status }) => ({
		uid: metadata.uid,
		component: metadata.labels["app.kubernetes.io/component"],
		isReady: status.conditions?.some(
			({ type, status }) => type === "Ready" && status === "True",
		),
		restarts: status.containerStatuses?.map((each) => each.restartCount),
	}));
}

/** The components with Pods that aren't ready. */
async function unready(): Promise<(string | undefined)[]> {
	const pods = await systemPods();
	return [
		...new Set(
			pods.filter((pod) => !pod.isReady).map(({ component }) => component),
		),
	];
}

/** All processes but the bundled store's, which reads its keys at its start. */
async function processes() {
	return (await systemPods())
		.filter(({ component }) => component !== "s3" && component !== "setup")
		.map(({ uid, component, restarts }) => ({ uid, component, restarts }))
		.sort((a, b) => (a.uid < b.uid ? -1 : 1));
}
