import { cp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { freeze } from "../../support/faults/frozen-process.ts";
import type { Scene } from "./scene/scene.ts";
import { eventually, Violation } from "./scene/violation.ts";

/** A copy of NATS's files as they are at this instant, to be had back later. */
export async function copyNats(scene: Scene): Promise<string> {
	const { nats, natsStore, scratch, locks } = scene;
	const release = await locks.take("nats");
	const copy = join(scratch, "nats-copy");
	await freeze(nats.pid);
	await cp(natsStore, copy, { recursive: true });
	process.kill(nats.pid, "SIGCONT");
	release();
	return copy;
}

/**
 * Restores NATS's files from a copy that lacks what was archived since. Both archives must raise an alarm and change
 * neither store nor stream. `isOvertaken`: receive first writes past the end of the cuts.
 */
export async function restoreAndExpectAlarm(
	scene: Scene,
	copy: string,
	isOvertaken: boolean,
): Promise<void> {
	const { nats, natsStore, archives } = scene;
	const archived = await scene.streams();
	const stored = await filesOf(scene);
	if (isOvertaken) for (const archive of archives) await archive.kill();
	await nats.kill();
	await rm(natsStore, { recursive: true });
	await cp(copy, natsStore, { recursive: true });
	await nats.start();
	if (isOvertaken) {
		scene.send();
		await eventually("progress", async () => {
			for (const [shard, { name, state }] of (
				await scene.streams()
			).entries()) {
				const archivedThrough = archived[shard]!.state.last_seq;
				if (state.last_seq <= archivedThrough)
					return `the restored ${name} ends at ${state.last_seq}, the cuts at ${archivedThrough}`;
			}
			return undefined;
		});
		await scene.stopSending();
		for (const archive of archives) await archive.start();
	}
	const restored = await scene.streams();
	for (const { healthUrl } of archives)
		await eventually("alarm", async () => {
			const metrics = await (await fetch(`${healthUrl}/metrics`)).text();
			return restored.every(({ shard }) =>
				metrics.includes(`tidemill_archive_alarm{shard="${shard}"} 1`),
			)
				? undefined
				: `an archive goes on with a stream that was restored from an old copy: ${await (await fetch(`${healthUrl}/readyz`)).text()}`;
		});
	for (const [shard, { name, state }] of (await scene.streams()).entries())
		if (state.first_seq !== restored[shard]!.state.first_seq)
			throw new Violation("alarm", `the restored ${name} was purged`);
	const added = (await filesOf(scene)).difference(stored);
	if (added.size > 0)
		throw new Violation(
			"alarm",
			`of the restored stream was written ${[...added].join(", ")}`,
		);
}

/** Cut records and data objects. */
async function filesOf({ directory }: Scene): Promise<Set<string>> {
	const files = await readdir(directory, { recursive: true });
	return new Set(
		files.filter((file) => /^(cuts|events|quarantine)\//.test(file)),
	);
}
