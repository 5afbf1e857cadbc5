// On a laptop nothing proves this: it needs disks or networks that only root makes.
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { natsRoles } from "../../../operator/install/nats-users.ts";
import { randomPassword } from "../../../operator/install/secret-changes.ts";
import { startArchiveProcess } from "../../support/faults/archive-process.ts";
import { LoopDisk } from "../../support/faults/loop-disk.ts";
import {
	ArchiveFixture,
	eventually,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import {
	startReceiver,
	TestRoutes,
	untilReady,
} from "../../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../../support/senders/http-client.ts";
import { startReloadedNats } from "../../support/servers/reloaded-nats.ts";
import { startS3 } from "../../support/servers/servers.ts";
import { accessStore } from "../../support/servers/store-access.ts";

const hasDisk = await LoopDisk.isPossible();

test.runIf(hasDisk)(
	"once NATS's full disk has room, all goes on by itself, and nothing acknowledged is lost",
	async () => {
		const disk = await LoopDisk.make(160);
		onTestFinished(() => disk.remove());
		const { archive, nats } = await startScene(disk);
		const routes = new TestRoutes(archive.connection);
		await routes.markSynced();
		const { path } = await routes.add();
		const receiver = await startReceiver(nats);
		onTestFinished(() => receiver.stop());
		await untilReady(receiver);
		const readyz = async () =>
			(await fetch(`${receiver.healthUrl}/readyz`)).text();
		const stored: string[] = [];
		const send = async () => {
			const body = JSON.stringify(`${stored.length} ${"x".repeat(500_000)}`);
			const { status } = await sendJSON(receiver.url + path, body);
			if (status === 200) stored.push(body);
			return status;
		};
		await eventually(async () => expect(await send()).toBe(200));
		for (let n = 0; n < 5; n++) await send();

		await disk.fill();
		while ((await send()) === 200);
		await eventually(async () => {
			expect(await send()).toBe(503);
			expect(await readyz()).toMatch(
				/^ok: shard 0: NATS did not take the latest frame/,
			);
		});
		const archiving = await startArchiveProcess(archive);
		await disk.free();
		// As kubelet does.
		await nats.ended;
		await nats.start();

		await eventually(async () => expect(await send()).toBe(200));
		await eventually(async () =>
			expect((await archive.streamState()).messages).toBe(0),
		);
		const bodies = new Set(await archive.bodies());
		expect(stored.filter((body) => !bodies.has(body))).toEqual([]);
		await eventually(async () => {
			expect(await readyz()).toBe("ok\n");
			expect(await archiving.readyz()).toBe("ok\n");
		});
	},
);

/** NATS with its store on this disk, and what the chart runs beside it. */
async function startScene(disk: LoopDisk) {
	const users = ["admin", ...natsRoles] as const;
	const passwords = Object.fromEntries(
		users.map((user) => [user, randomPassword()]),
	);
	const [server, s3] = await Promise.all([
		startReloadedNats(passwords, { disk: disk.directory }),
		startS3(),
	]);
	accessStore(s3);
	const urlFor = (user: string) =>
		server.address.replace("//", `//${user}:${passwords[user]}@`);
	const nats = Object.assign(server, {
		urlFor,
		stopMaker: async () => undefined,
		storeDirectory: join(disk.directory, "store"),
	});
	const stop = async () => {
		await server.stop();
		await s3.stop();
	};
	onTestFinished(stop);
	const archive = await ArchiveFixture.open({ nats, s3, stop }, 0);
	return { archive, nats };
}
