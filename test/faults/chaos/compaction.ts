import { utimes } from "node:fs/promises";
import { visibleObjects } from "../../../ingest/lake/objects/replacements.ts";
import { isOutput } from "../../../ingest/wire/object-name.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import type { ObjectRow } from "./checks/checks.ts";
import {
	type DateObjects,
	datesOf,
	recordFile,
	recordOf,
} from "./checks/dates.ts";
import { untilArchived, verifyArchive, verifyRows } from "./checks/verify.ts";
import { manifestFiles } from "./load.ts";
import type { Fault } from "./plan.ts";
import {
	archiveNames,
	minCompactedObjects,
	type Scene,
} from "./scene/scene.ts";
import { eventually } from "./scene/violation.ts";
import { strike } from "./strike.ts";

/** Longer than anybody may read what a compaction replaced (compaction/record.ts). */
const outdatedMs = 26 * 3_600_000;

/** Settles when each Source has a date that is worth a compaction, once it is closed. */
export async function untilCompactable(scene: Scene): Promise<void> {
	await eventually("progress", async () => {
		const dates = await datesOf(scene);
		const waiting = scene.routes.find(
			(route) =>
				!dates.some(
					(each) => each.route === route && !each.quarantined && isDue(each),
				),
		);
		return waiting && `${waiting.source} has too few objects to be compacted`;
	});
}

/**
 * Closes the seed's dates, and has the faults strike while they are compacted and, a day later, what that replaced is
 * removed. Looks at what manifests name before and after the removal. Returns the rows that are left.
 */
export async function compact(
	scene: Scene,
	faults: Fault[],
): Promise<ObjectRow[]> {
	const isLate = (fault: Fault) =>
		"at" in fault && "point" in fault.at && fault.at.point === "superseded";
	const strikes = (which: Fault[]) => {
		const striking = Promise.all(which.map((fault) => strike(scene, fault)));
		striking.catch(() => undefined);
		return striking;
	};
	const early = strikes(faults.filter((fault) => !isLate(fault)));
	scene.clock.closeDate();
	// Stream time is that of frames; and an archive is only relieved by the other while there is something to do.
	scene.send();
	await untilCompacted(scene);
	await early;
	await scene.stopSending();
	await untilArchived(scene);
	await verifyManifests(scene);

	const late = strikes(faults.filter(isLate));
	await untilRemoved(scene);
	await late;
	await verifyManifests(scene);
	// With whatever else there is in the bucket.
	return verifyArchive(scene);
}

function untilCompacted(scene: Scene): Promise<void> {
	const today = utcDate(scene.clock.now());
	return eventually("compacted", async () => {
		for (const each of await datesOf(scene))
			if (each.date < today && isDue(each) && !(await recordOf(scene, each)))
				return `${each.date} of ${each.route.source} has ${each.names.length} objects and no compaction record`;
		return undefined;
	});
}

/** The records are made to look a day old, and nothing stays of what they replaced. */
async function untilRemoved(scene: Scene): Promise<void> {
	const seconds = (Date.now() - outdatedMs) / 1000;
	for (const each of await datesOf(scene))
		if (await recordOf(scene, each))
			await utimes(recordFile(scene, each), seconds, seconds);
	// One that has seen a record knows when it was written.
	await Promise.all(archiveNames.map((name) => restart(scene, name)));
	return eventually("compacted", async () => {
		for (const each of await datesOf(scene)) {
			const record = await recordOf(scene, each);
			if (!record) continue;
			const { originals, outputs } = visibleObjects(
				each.names.filter((name) => !isOutput(name)),
				(name) => name,
				record,
			);
			const left = each.names.length - originals.length - outputs.length;
			if (left !== 0)
				return `${each.date} of ${each.route.source} still has ${left} of the objects that were replaced`;
		}
		return undefined;
	});
}

async function restart(scene: Scene, name: string): Promise<void> {
	const release = await scene.locks.take(name);
	const archive = scene.parts[name]!;
	await archive.kill();
	await archive.start().finally(release);
}

/** Each shard compacts its own objects. */
function isDue({ names }: DateObjects): boolean {
	const originals = names.filter((name) => !isOutput(name));
	const streams = Map.groupBy(originals, (name) =>
		name.slice(0, name.lastIndexOf("-")),
	);
	return [...streams.values()].some(
		({ length }) => length >= minCompactedObjects,
	);
}

/** Of what new Runs would load. */
async function verifyManifests(scene: Scene): Promise<void> {
	const files: string[] = [];
	for (const route of scene.routes)
		files.push(...(await manifestFiles(scene, route)));
	await verifyRows(scene, files);
}
