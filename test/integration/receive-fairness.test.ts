import { execFile } from "node:child_process";
import { Agent } from "node:http";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LoadOrder, LoadReport } from "../../bench/load-generator.ts";
import { send, sendJSON } from "../http-client.ts";
import { type ReceiveFixture, startReceiveFixture } from "../receiver.ts";

let fixture: ReceiveFixture;

beforeAll(async () => {
	fixture = await startReceiveFixture();
});

afterAll(() => fixture.stop());

async function newPath(): Promise<string> {
	const { path } = await fixture.routes.add();
	while ((await send(fixture.receiver.url + path)).status === 404);
	return path;
}

/** 512 connections that send as fast as they are answered. */
async function flood(path: string, measureMs: number): Promise<LoadReport> {
	const { hostname, port } = new URL(fixture.receiver.url);
	const order: LoadOrder = {
		host: hostname,
		port: Number(port),
		paths: [path],
		bodyBytes: 495,
		connections: 512,
		warmUpMs: 500,
		measureMs,
	};
	const { stdout } = await promisify(execFile)(process.execPath, [
		new URL("../../bench/load-generator.ts", import.meta.url).pathname,
		JSON.stringify(order),
	]);
	return JSON.parse(stdout);
}

/** Sends one event after the other until told to stop; what each took. */
async function trickle(
	url: string,
	until: () => boolean,
): Promise<{ meanMs: number; count: number }> {
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	const startedMs = performance.now();
	let count = 0;
	while (!until()) {
		expect((await sendJSON(url, "{}", { agent })).status).toBe(200);
		count++;
	}
	agent.destroy();
	return { meanMs: (performance.now() - startedMs) / count, count };
}

test("beside a source that floods, another waits for a part of what the flood waits, and all are stored", async () => {
	const floodPath = await newPath();
	const url = fixture.receiver.url + (await newPath());
	let isFlooding = true;
	const flooded = flood(floodPath, 4_000).finally(() => {
		isFlooding = false;
	});
	const { meanMs } = await trickle(url, () => !isFlooding);
	const { p50Ms, failures } = await flooded;
	expect(failures).toBe(0);
	expect(meanMs).toBeLessThan(p50Ms / 2);
});
