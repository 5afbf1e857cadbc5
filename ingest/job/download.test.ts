import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pino from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import type {
	DayObject,
	LoadDay,
} from "../../packages/warehouses/load/load-day.ts";
import { temporaryDirectory } from "../../test/support/servers/test-server.ts";
import { downloadObjects } from "./download.ts";

const log = pino({ level: "silent" });

/** A day's objects in a store that answers when it is told to. */
async function startStore(contents: Buffer[]) {
	const directory = await temporaryDirectory("download");
	const asked: { key: string; answer: () => ServerResponse }[] = [];
	const server = createServer(({ url = "" }, response) => {
		const content = contents[Number(url.slice(1))]!;
		asked.push({ key: url, answer: () => response.end(content) });
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(async () => {
		server.closeAllConnections();
		server.close();
		await rm(directory, { recursive: true });
	});
	const { port } = server.address() as AddressInfo;
	const objects = contents.map(
		({ length }, index): DayObject => ({
			key: `${index}.parquet`,
			url: `http://127.0.0.1:${port}/${index}`,
			rows: 1,
			bytes: length,
			file: join(directory, String(index)),
		}),
	);
	const rows = contents.length;
	const day: LoadDay = { date: "2026-03-01", rows, objects, steps: [] };
	return { day, asked };
}

test("the first object arrives while no more than two are on their way", async () => {
	const { day, asked } = await startStore(
		Array.from({ length: 9 }, () => Buffer.from("content")),
	);
	const arrived: string[] = [];
	const { signal } = new AbortController();
	const arrive = ({ key }: DayObject) => arrived.push(key);
	const all = downloadObjects([day], async () => {}, log, signal, arrive);
	await vi.waitFor(() => expect(asked).toHaveLength(2));
	await delay(50);
	expect(asked).toHaveLength(2);
	asked[1]!.answer();
	await vi.waitFor(() => expect(asked).toHaveLength(7));
	expect(arrived).toHaveLength(1);
	for (let next = 0; next < 9; next++) {
		await vi.waitFor(() => expect(asked.length).toBeGreaterThan(next));
		asked[next]!.answer();
	}
	await all;
	expect(arrived).toHaveLength(9);
});
