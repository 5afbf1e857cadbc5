import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { constants, setPriority } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import {
	type ReceiveFixture,
	startReceiveFixture,
} from "../../../test/support/fixtures/data-plane/receiver.ts";
import { untilKnown } from "../../../test/support/senders/http-client.ts";
import type {
	BehaviourName,
	FloodOrder,
} from "../../../test/support/strangers/flood.ts";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
	percentile,
	type Say,
} from "../measure/measurement.ts";
import { sourcesEnvironment } from "../measure/process-cost.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import { load } from "../receive/leg.ts";

const strangers = 10_000;
/** Each connection is opened again so long after its end. */
const reopenAfterMs = 1_000;
const addresses = ["127.0.1.1", "127.0.2.1", "127.0.3.1", "127.0.4.1"];
/** Longer than the 10 s after which a connection without a head ends. */
const leg = { warmUpMs: 1_000, measureMs: 12_000 };
const keptPerSecond = 200;
const freshPerSecond = 50;

interface Leg {
	keptP99Ms: number;
	freshP99Ms: number;
	/** Requests that weren't answered 200. */
	failures: number;
	/** Connections that the server held for strangers in the end. */
	held: number;
}

/** Another account's Source in receive while strangers, with neither URL nor token, take as many connections as they can. */
export const bench: Bench = {
	about: `a Source with ${keptPerSecond + freshPerSecond} requests/s beside ${strangers} connections of strangers; baseline: without them`,
	run: async (say) => {
		const fixture = await startReceiveFixture({ max_bytes: 8 * 1024 ** 3 });
		try {
			return await measure(fixture, say);
		} finally {
			await fixture.stop();
		}
	},
};

async function measure(
	{ receiver, routes }: ReceiveFixture,
	say: Say,
): Promise<Measurement[]> {
	const { path } = await routes.add({});
	await untilKnown(receiver.url + path);
	const { hostname: host, port } = new URL(receiver.url);
	const alone = () => sendAsOther({ host, port: Number(port), paths: [path] });
	const beside = (behaviour: BehaviourName) => async () => {
		const flood = await startFlood(Number(port), behaviour);
		try {
			const report = await alone();
			return { ...report, held: await flood.stop() };
		} finally {
			flood.kill();
		}
	};
	const legs = await alternate(
		"another account",
		{ alone, idle: beside("nothing at all"), heads: beside("half a head") },
		{
			count: roundsOf(3),
			say,
			text: ({ keptP99Ms, freshP99Ms, failures, held }: Leg) =>
				`p99 ${keptP99Ms.toFixed(1)} ms, of new connections ${freshP99Ms.toFixed(1)} ms, ${failures} failures, ${held} strangers`,
		},
	);
	const attacks = [
		["idle connections", legs.idle],
		["half heads", legs.heads],
	] as const;
	return attacks.flatMap(([what, reports]) => {
		const each = (field: keyof Leg) => reports.map((report) => report[field]);
		const against = (metric: string, field: "keptP99Ms" | "freshP99Ms") =>
			compared(
				`99th percentile ${metric} beside ${strangers} ${what}`,
				"ms",
				each(field),
				legs.alone.map((report) => report[field]),
				{ ratioAtMost: 3 },
			);
		return [
			against("on kept connections", "keptP99Ms"),
			against("on new connections", "freshP99Ms"),
			figure(`requests that failed beside ${what}`, each("failures"), "", {
				atMost: 0,
			}),
			figure(`connections held by ${what}`, each("held"), ""),
		];
	});
}

/** Sends as another account, at a steady rate: over 64 kept connections, and over a new one for each request. */
async function sendAsOther(to: {
	host: string;
	port: number;
	paths: [string];
}): Promise<Leg> {
	const [kept, fresh] = await Promise.all([
		load(to, { ...leg, connections: 64, requestsPerSecond: keptPerSecond }),
		sendOverNew(to),
	]);
	return {
		keptP99Ms: kept.p99Ms,
		freshP99Ms: percentile(fresh.latenciesMs, 0.99),
		failures: kept.failures + fresh.failures,
		held: 0,
	};
}

async function sendOverNew({
	host,
	port,
	paths: [path],
}: {
	host: string;
	port: number;
	paths: [string];
}) {
	const latenciesMs: number[] = [];
	let failures = 0;
	await delay(leg.warmUpMs);
	const startedMs = performance.now();
	const sent: Promise<void>[] = [];
	const sendOne = async (dueMs: number) => {
		const headers = { "content-type": "application/json", "content-length": 2 };
		const asked = request({
			...{ host, port, path, headers, method: "POST", agent: false },
		});
		asked.end("{}");
		try {
			const [response] = await once(asked, "response");
			response.resume();
			await once(response, "end");
			if (response.statusCode !== 200) failures++;
		} catch {
			failures++;
		}
		latenciesMs.push(performance.now() - dueMs);
	};
	const count = (leg.measureMs / 1_000) * freshPerSecond;
	for (let i = 0; i < count; i++) {
		const dueMs = startedMs + (i / freshPerSecond) * 1_000;
		await delay(Math.max(0, dueMs - performance.now()));
		sent.push(sendOne(dueMs));
	}
	await Promise.all(sent);
	return { latenciesMs, failures };
}

/** Settles when each stranger has opened its connection once. */
async function startFlood(port: number, behaviour: BehaviourName) {
	const order: FloodOrder = {
		...{ port, behaviour, addresses, reopenAfterMs },
		connections: strangers,
	};
	const child = spawn(
		process.execPath,
		[
			new URL("flood-process.ts", import.meta.url).pathname,
			JSON.stringify(order),
		],
		{ env: sourcesEnvironment(), stdio: ["ignore", "pipe", "inherit"] },
	);
	// Strangers have machines of their own, so their process leaves the cores to all others.
	setPriority(child.pid!, constants.priority.PRIORITY_LOW);
	const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
	await lines.next();
	return {
		stop: async (): Promise<number> => {
			child.kill("SIGTERM");
			const { value } = await lines.next();
			return JSON.parse(value!).held;
		},
		kill: () => child.kill("SIGKILL"),
	};
}
