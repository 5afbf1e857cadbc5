import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { freePort } from "../local/ports.ts";
import { answersOk } from "../local/probe.ts";
import { startReceiveFixture } from "../test/receiver.ts";
import {
	startServer,
	type TestServer,
	temporaryDirectory,
} from "../test/test-server.ts";
import type { LoadOrder, LoadReport } from "./load-generator.ts";
import { type Bench, type Measurement, median } from "./measurement.ts";

const connectionCounts = [128, 512];
const rounds = 3;
const warmUpMs = 1_000;
const measureMs = 4_000;
/** A JSON body of 495 bytes, the size of an ordinary webhook. */
const body = JSON.stringify({
	event: "order.paid",
	order: 4711,
	items: Array.from({ length: 8 }, (_, id) => ({ id, name: `article ${id}` })),
	note: "x",
}).replace('"x"', (note) =>
	JSON.stringify("x".repeat(495 - 273 + note.length)),
);

interface Contender {
	host: string;
	port: number;
	path: string;
}

/** Receive, with every write synced, against plain fastify that answers the same and stores nothing. */
export const bench: Bench = {
	about:
		"events/s over HTTP, acknowledged by JetStream with sync_interval: always; baseline: plain fastify, nothing stored",
	async run(say) {
		const fastify = await startPlainFastify();
		const receive = await startReceive();
		try {
			const measurements: Measurement[] = [];
			for (const connections of connectionCounts)
				measurements.push(
					...(await compare(
						fastify.contender,
						receive.contender,
						connections,
						say,
					)),
				);
			return measurements;
		} finally {
			await receive.stop();
			await fastify.stop();
		}
	},
};

/** Alternating runs, so that a machine that slows down slows both. */
async function compare(
	fastify: Contender,
	receive: Contender,
	connections: number,
	say: (progress: string) => void,
): Promise<Measurement[]> {
	const plain: LoadReport[] = [];
	const stored: LoadReport[] = [];
	for (let round = 1; round <= rounds; round++) {
		plain.push(await load(fastify, connections));
		stored.push(await load(receive, connections));
		say(
			`${connections} connections, round ${round} of ${rounds}: fastify ${perSecond(plain.at(-1)!)}, receive ${perSecond(stored.at(-1)!)}`,
		);
	}
	const middle = (reports: LoadReport[], field: keyof LoadReport) =>
		median(reports.map((report) => report[field]));
	const against = (metric: string, unit: string, field: keyof LoadReport) => {
		const value = middle(stored, field);
		const baseline = middle(plain, field);
		return {
			metric: `${metric} at ${connections} connections`,
			value,
			unit,
			baseline,
			ratio: value / baseline,
		};
	};
	return [
		against("throughput", "events/s", "requestsPerSecond"),
		against("median latency", "ms", "p50Ms"),
		against("99th percentile latency", "ms", "p99Ms"),
	];
}

async function load(
	contender: Contender,
	connections: number,
): Promise<LoadReport> {
	const order: LoadOrder = {
		...contender,
		body,
		connections,
		warmUpMs,
		measureMs,
	};
	const { stdout } = await promisify(execFile)(process.execPath, [
		new URL("load-generator.ts", import.meta.url).pathname,
		JSON.stringify(order),
	]);
	const report = JSON.parse(stdout) as LoadReport;
	if (report.failures > 0)
		throw new Error(
			`${report.failures} requests to ${contender.path} were not answered 200: this is no measurement`,
		);
	return report;
}

async function startReceive(): Promise<{
	contender: Contender;
	stop(): Promise<void>;
}> {
	const { receiver, routes, stop } = await startReceiveFixture({
		max_bytes: 8 * 1024 ** 3,
	});
	const { path } = await routes.add();
	const { hostname, port } = new URL(receiver.url);
	return { contender: { host: hostname, port: Number(port), path }, stop };
}

async function startPlainFastify(): Promise<{
	contender: Contender;
	stop: TestServer["stop"];
}> {
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	const server = await startServer(
		{
			name: "plain-fastify",
			command: process.execPath,
			args: [
				new URL("plain-fastify.ts", import.meta.url).pathname,
				String(port),
			],
			env: {},
			isReady: () => answersOk(`${url}/ready`),
			stopTimeoutMs: 1_000,
		},
		await temporaryDirectory("plain-fastify"),
	);
	const path = `/hooks/${"0".repeat(32)}/${"0".repeat(32)}`;
	return {
		contender: { host: "127.0.0.1", port, path },
		stop: () => server.stop(),
	};
}

function perSecond({ requestsPerSecond }: LoadReport): string {
	return `${Math.round(requestsPerSecond)}/s`;
}
