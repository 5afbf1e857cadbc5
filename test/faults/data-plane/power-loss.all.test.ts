// On a laptop nothing proves this: it needs disks or networks that only root makes.
import { setTimeout as delay } from "node:timers/promises";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { framesSubject } from "../../../packages/contracts/nats.ts";
import { LoopDisk } from "../../support/faults/loop-disk.ts";
import {
	connectAdmin,
	createShardStream,
} from "../../support/fixtures/data-plane/receiver.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { startNats } from "../../support/servers/servers.ts";

const hasDisk = await LoopDisk.isPossible();

const powerLosses = 5;
const publishers = 4;

test.runIf(hasDisk)(
	"with our settings, what NATS has acknowledged survives power losses",
	async () => {
		const { acknowledged, stored } = await publishThroughPowerLosses();
		expect(acknowledged.difference(stored)).toEqual(new Set());
	},
);

test.runIf(hasDisk)(
	"with NATS's usual sync_interval it does not, so that the test above can fail",
	async () => {
		const { acknowledged, stored } = await publishThroughPowerLosses("2m");
		expect(acknowledged.difference(stored).size).toBeGreaterThan(0);
	},
);

/** Publishes while NATS's disk loses its power again and again. Returns what was acknowledged and what is left in the end. */
async function publishThroughPowerLosses(syncInterval?: string) {
	const random = seededRandom();
	const disk = await LoopDisk.make(256);
	onTestFinished(() => disk.remove());
	const nats = await startNats((config) => {
		config.jetstream.store_dir = disk.directory;
		if (syncInterval) config.jetstream.sync_interval = syncInterval;
	});
	onTestFinished(() => nats.stop());
	const admin = await connectAdmin(nats);
	onTestFinished(() => admin.close());
	const stream = await createShardStream(admin, { max_bytes: 64 * 1024 ** 2 });
	// The stream was made long ago.
	await disk.sync();

	const acknowledged = new Set<string>();
	let n = 0;
	let isOver = false;
	const publish = async () => {
		while (!isOver) {
			const text = `${n++} ${"x".repeat(random() ** 4 * 50_000)}`;
			await jetstream(admin)
				.publish(framesSubject(0), text, { timeout: 1_000 })
				.then(
					() => void acknowledged.add(text),
					() => delay(10),
				);
		}
	};
	const publishing = Array.from({ length: publishers }, publish);
	const untilAcknowledged = (count: number) =>
		vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(count), {
			timeout: 120_000,
			interval: 1,
		});
	for (let loss = 0; loss < powerLosses; loss++) {
		await untilAcknowledged(acknowledged.size + random() * 200);
		await disk.losePower(nats);
		await nats.start();
	}
	await untilAcknowledged(acknowledged.size);
	isOver = true;
	await Promise.all(publishing);
	const stored = await messagesOf(admin, stream);
	console.log(
		`${powerLosses} power losses with sync_interval ${syncInterval ?? "as ours"}: of ${acknowledged.size} acknowledged messages ${acknowledged.difference(stored).size} are gone`,
	);
	return { acknowledged, stored };
}

async function messagesOf(
	connection: NatsConnection,
	stream: string,
): Promise<Set<string>> {
	const { streams } = await jetstreamManager(connection, { checkAPI: false });
	const { first_seq, last_seq } = (await streams.info(stream)).state;
	const stored = new Set<string>();
	for (let seq = first_seq; seq <= last_seq; seq++) {
		const message = await streams.getMessage(stream, { seq });
		if (message) stored.add(message.string());
	}
	return stored;
}
