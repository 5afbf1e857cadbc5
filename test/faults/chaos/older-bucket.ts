import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { freeze } from "../../support/faults/frozen-process.ts";
import type { PlainRow } from "../../support/senders/persistent-sender.ts";
import { eventsAfter, sendMore } from "./bucket-loss.ts";
import { isQuarantined, type ObjectRow, verifyTable } from "./checks/checks.ts";
import { cutsIn, untilArchived, verifyArchive } from "./checks/verify.ts";
import type { LoadedTable } from "./load.ts";
import type { OlderBucket } from "./plan.ts";
import type { Scene } from "./scene/scene.ts";
import { eventually, Violation } from "./scene/violation.ts";

/** With the attributes in which the gateway keeps what S3 says of an object. */
const copyFiles = (from: string, to: string) =>
	promisify(execFile)("cp", ["--archive", from, to]);

/** A copy of the bucket as it is at an instant at which each cut has its objects: what lacks some is the fault lost-object. */
export async function copyBucket(scene: Scene): Promise<string> {
	const { store, directory, locks, prefix } = scene;
	// On the same disk, which keeps the attributes, and beside the bucket.
	const copy = join(store.s3.bucketDirectory, "..", `${prefix}-copy`);
	await eventually("fault", async () => {
		await rm(copy, { recursive: true, force: true });
		const release = await locks.take("s3");
		await freeze(store.s3.pid);
		try {
			await copyFiles(directory, copy);
		} finally {
			process.kill(store.s3.pid, "SIGCONT");
			release();
		}
		return cutWithoutObjects(copy);
	});
	return copy;
}

async function cutWithoutObjects(copy: string): Promise<string | undefined> {
	for (const { stream, first, groups } of await cutsIn(copy)) {
		const name = `${stream}-${String(first).padStart(20, "0")}.parquet`;
		for (const { account, sourceKey, date, quarantined } of groups) {
			const folder = `${quarantined ? "quarantine" : "events"}/account=${account}/source=${sourceKey}/date=${date}`;
			if (!existsSync(join(copy, folder, name)))
				return `the copy of the bucket lacks ${folder}/${name}`;
		}
	}
	return undefined;
}

/**
 * The bucket is put back to the copy while receive goes on. Archive must change nothing in it and say what to do, until a person accepts
 * it; then each event that is in neither is told, and the table keeps its rows until a person says otherwise.
 * @param source the table's, among the scene's routes. @param rows of the bucket before.
 */
export async function restoreOlderBucket(
	scene: Scene,
	{ adds }: OlderBucket,
	copy: string,
	{ source, table }: { source: number; table: LoadedTable },
	rows: readonly ObjectRow[],
): Promise<void> {
	const { archives, directory } = scene;
	const before = await table.rows();
	for (const archive of archives) await archive.kill();
	await rm(directory, { recursive: true });
	await copyFiles(copy, directory);
	await rm(copy, { recursive: true });
	for (const archive of archives) await archive.start();
	scene.send();
	await scene.untilMore(eventsAfter);
	await scene.stopSending();
	await untilRefused(scene);

	scene.hasLost = true;
	const { exitCode, stdout, stderr } = await scene.ledger("accept-bucket");
	if (exitCode !== 0)
		throw new Violation("told", `ledger accept-bucket: ${stdout}${stderr}`);
	// Kubernetes starts them again.
	for (const archive of archives) {
		await archive.ended;
		await archive.start();
	}
	await untilArchived(scene);
	await verifyArchive(scene);

	await sendMore(scene, source);
	await untilArchived(scene);
	const now = await verifyArchive(scene);
	const { source: name, sourceKey } = scene.routes[source]!;
	const own = now.filter((row) => row.sourceKey === sourceKey);
	const left = own.filter((row) => !isQuarantined(row));
	const apart = own.filter(isQuarantined);
	const lost = [...before.table, ...before.quarantine].filter(
		({ event_id }) => !own.some((row) => row.event_id === event_id),
	);
	const failure = await table.run(adds ? { adds: true } : {});
	const due = lost.length > 0 ? "DayWouldShrink" : undefined;
	if (failure !== due)
		throw new Violation(
			"told",
			`a Run ends with ${failure ?? "success"}, and the bucket lacks ${lost.length} rows of the table`,
		);
	const kept = await table.rows();
	verifyTable(name, united(before.table, left), kept.table);
	verifyTable(
		`${name}_quarantine`,
		united(before.quarantine, apart),
		kept.quarantine,
	);
	// A person says that the rows may go.
	const dates = new Set([...rows, ...own].map(({ date }) => date));
	const accepting = await table.run({ acceptLoss: [...dates] });
	if (accepting)
		throw new Violation("table", `a Run that accepts it fails: ${accepting}`);
	const after = await table.rows();
	verifyTable(name, left, after.table);
	verifyTable(`${name}_quarantine`, apart, after.quarantine);
}

/** An archive says why it goes on with no shard whose cut records are missing, and what to do. */
async function untilRefused(scene: Scene): Promise<void> {
	const lacking: number[] = [];
	const cuts = await cutsIn(scene.directory);
	for (const { shard, name } of await scene.streams()) {
		const recorded = cuts.filter(({ stream }) => stream === name).at(-1)?.last;
		if ((await scene.objectsDone(name)) > (recorded ?? 0)) lacking.push(shard);
	}
	if (lacking.length === 0)
		throw new Violation("fault", "the copy of the bucket lacks no cut record");
	for (const { healthUrl } of scene.archives)
		await eventually("told", async () => {
			const said = await (await fetch(`${healthUrl}/readyz`)).text();
			const metrics = await (await fetch(`${healthUrl}/metrics`)).text();
			const isTold =
				said.includes("tidemill ledger accept-bucket") &&
				lacking.every((shard) =>
					metrics.includes(`tidemill_archive_alarm{shard="${shard}"} 1`),
				);
			return isTold
				? undefined
				: `an archive goes on with an older copy of its bucket: ${said}`;
		});
}

function united(
	some: readonly PlainRow[],
	others: readonly PlainRow[],
): PlainRow[] {
	return [
		...new Map([...some, ...others].map((row) => [row.event_id, row])).values(),
	];
}
