// In make test: test/data-plane/archive.laptop.test.ts
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { startArchiveProcess } from "../../support/faults/archive-process.ts";
import { memoryDisk } from "../../support/faults/loop-disk.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import {
	eventsOf,
	loadFixture,
} from "../../support/fixtures/data-plane/load-fixture.ts";
import { isRoot } from "../../support/servers/postgres.ts";
import { startNats, startS3 } from "../../support/servers/servers.ts";
import { accessStore } from "../../support/servers/store-access.ts";

/* What else may be full than the buffer: it is told by its cause with the next step, and all goes on once there is room. */

type NatsConfig = ReturnType<typeof JSON.parse>;
const roomy = { max_file: 1e9, max_memory: 2e8 };

async function startScene(
	edit: (config: NatsConfig) => void = () => undefined,
	buckets?: string,
) {
	const [nats, s3] = await Promise.all([startNats(edit), startS3(buckets)]);
	accessStore(s3);
	const stop = async () => {
		await nats.stop();
		await s3.stop();
	};
	onTestFinished(stop);
	const archive = await ArchiveFixture.open({ nats, s3, stop }, 0);
	return { archive, nats };
}

/** NATS with other settings, and what it has stored. */
async function restart(
	{ nats }: Awaited<ReturnType<typeof startScene>>,
	edit: (config: NatsConfig) => void,
) {
	const file = join(dirname(nats.storeDirectory), "nats.conf");
	const config = JSON.parse(await readFile(file, "utf8"));
	edit(config);
	await nats.kill();
	await writeFile(file, JSON.stringify(config));
	await nats.start();
}

test("JetStream's full memory stops no event, and the log says which limit to raise", async () => {
	const { archive } = await startScene((config) => {
		config.jetstream.max_memory_store = 1024 ** 2;
	});
	const { child, ended, readyz } = await startArchiveProcess(archive);
	await archive.publish([newEvent("1")]);
	await eventually(async () => {
		expect(await archive.bodies()).toEqual(["1"]);
		expect(await readyz()).toBe("ok\n");
	});
	child.kill();
	expect((await ended).stdout).toContain("Raise max_memory_store");
});

test.each([
	["streams", 2],
	["streams", 4],
	["consumers", 1],
])(
	"an account that may have too few %s, %i, keeps archive from its work, which /readyz says with the limit, and once it may have more all goes on",
	async (what, most) => {
		const limit = `max_${what}`;
		const scene = await startScene((config) => {
			config.accounts.tidemill.jetstream = { ...roomy, [limit]: most };
		});
		const { archive } = scene;
		// One of a stream is all that archive needs, and somebody else may have that.
		if (what === "consumers") {
			const { consumers } = await jetstreamManager(archive.connection);
			await consumers.add(archive.stream, { durable_name: "another" });
		}
		const { readyz } = await startArchiveProcess(archive);
		await archive.publish([newEvent("1")]);
		await eventually(async () =>
			expect(await readyz()).toMatch(
				new RegExp(`maximum (number of )?${what} .*Raise ${limit}`),
			),
		);
		await restart(scene, (config) => {
			config.accounts.tidemill.jetstream = { ...roomy, [limit]: 100 };
		});
		await eventually(async () => {
			expect(await archive.bodies()).toEqual(["1"]);
			expect(await readyz()).toBe("ok\n");
		});
	},
);

test.skipIf(!isRoot)(
	"a full store is named with what makes room, and archive goes on once there is some",
	async () => {
		const disk = await memoryDisk("600k");
		const { archive } = await startScene(undefined, disk.directory);
		await fill(disk.directory);
		const { readyz } = await startArchiveProcess(archive);
		await archive.publish([newEvent("1")]);
		await eventually(async () =>
			expect(await readyz()).toMatch(
				/InsufficientStorage: .* raise the bucket's quota/,
			),
		);
		expect((await archive.streamState()).messages).toBe(1);
		await disk.grow("40m");
		await eventually(async () => {
			expect(await archive.bodies()).toEqual(["1"]);
			expect(await readyz()).toBe("ok\n");
		});
	},
);

test.skipIf(!isRoot)(
	"a Run whose scratch volume is full says so, and the next one loads the day",
	async () => {
		const fixture = await loadFixture();
		const disk = await memoryDisk("64k");
		await fill(disk.directory);
		const date = "2026-03-01";
		const days = await fixture.manifest({ [date]: [eventsOf(date, 2, "a")] });
		const env = { TIDEMILL_SCRATCH: disk.directory };
		expect(await fixture.load(days, { env })).toMatchObject({
			result: { error: { code: "ScratchFull", retryable: true } },
		});
		await disk.grow("40m");
		expect(await fixture.load(days, { env })).toMatchObject({ exitCode: 0 });
		expect(await fixture.rows("SELECT * FROM orders")).toHaveLength(2);
	},
);

async function fill(directory: string): Promise<void> {
	const page = Buffer.alloc(4_096);
	for (let file = 0; ; file++)
		try {
			await writeFile(join(directory, `ballast-${file}`), page);
		} catch {
			return;
		}
}
