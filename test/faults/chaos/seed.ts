import { utcDate } from "../../../packages/contracts/utc-date.ts";
import { randomOf } from "../../support/seeded-random.ts";
import { project } from "../../support/servers/role-server.ts";
import { loseObjects } from "./bucket-loss.ts";
import { isQuarantined, verifyTable } from "./checks/checks.ts";
import { untilArchived, verifyArchive } from "./checks/verify.ts";
import { compact, untilCompactable } from "./compaction.ts";
import { LoadedTable } from "./load.ts";
import { moveSource, verifyMoved } from "./move.ts";
import { copyBucket, restoreOlderBucket } from "./older-bucket.ts";
import {
	describe,
	type Fault,
	isBucketLoss,
	isOfCompaction,
	isOfLoad,
	planOf,
} from "./plan.ts";
import { copyNats, restoreAndExpectAlarm } from "./restore.ts";
import type { Scene } from "./scene/scene.ts";
import { eventually, Violation } from "./scene/violation.ts";
import type { Stack } from "./stack.ts";
import { strike } from "./strike.ts";

/** What one seed did, if it kept all promises. */
export interface SeedResult {
	acknowledged: number;
	unknown: number;
	rejected: number;
	rows: number;
	/** Of the rows. */
	quarantined: number;
	/** Whether a table was compared, too. */
	isLoaded: boolean;
}

const eventsBefore = 20;
const eventsAfter = 30;
const seedsPerLoad = 3;

/** A seed's faults as a person reads them. */
export function planText(seed: number): string {
	return planOf(seed, randomOf(seed)).map(describe).join("; ");
}

/**
 * Has the seed's faults strike a data plane, and looks at what is left. Throws the first {@link Violation}.
 * @param root of the code that runs, this repository's unless given. @param faults others than the seed's.
 * @param evidence folder for logs and files of one that failed.
 */
export async function runSeed(
	stack: Stack,
	seed: number,
	{
		root = project,
		faults = planOf(seed, randomOf(seed)),
		evidence,
	}: { root?: string; faults?: Fault[]; evidence?: string } = {},
): Promise<SeedResult> {
	// Dates of earlier seeds would be compacted, too.
	if (faults.some(isOfCompaction)) await stack.leaveScene();
	const scene = await stack.scene(root, randomOf(seed), {
		hasNatsClock: faults.some(({ kind }) => kind === "clock"),
	});
	try {
		const result = await run(scene, seed, faults, root);
		// Whose clock was moved or whose stream or bucket is an old one is of no more use.
		const isOld = ({ kind }: Fault) =>
			kind === "restore" || kind === "older-bucket";
		if (faults.some((fault) => movesClock(fault) || isOld(fault)))
			await stack.leaveScene();
		return result;
	} catch (error) {
		if (evidence) await scene.keepEvidence(evidence).catch(() => undefined);
		await stack.leaveScene();
		throw error;
	} finally {
		scene.traps.clear();
	}
}

function movesClock(fault: Fault): boolean {
	return (
		fault.kind === "midnight" || fault.kind === "clock" || isOfCompaction(fault)
	);
}

async function run(
	scene: Scene,
	seed: number,
	faults: Fault[],
	root: string,
): Promise<SeedResult> {
	const midnight = faults.find(({ kind }) => kind === "midnight");
	if (midnight) await strike(scene, midnight);
	const startedAtMs = scene.clock.now();
	scene.send();
	await scene.untilMore(eventsBefore);
	const restore = faults.find((fault) => fault.kind === "restore");
	const copying = restore && copyAfter(scene, restore.acknowledged, copyNats);
	const older = faults.find((fault) => fault.kind === "older-bucket");
	const copyingBucket =
		older && copyAfter(scene, older.acknowledged, copyBucket);
	copyingBucket?.catch(() => undefined);
	const move = faults.find((fault) => fault.kind === "move");
	const keepsKeys = !faults.some(({ kind }) => kind === "lost-disk");
	const moving = move && moveSource(scene, move, keepsKeys);
	moving?.catch(() => undefined);
	const sudden = faults.filter(
		(fault) => fault !== midnight && !isOfLoad(fault) && !isOfCompaction(fault),
	);
	// In every other seed they may come at once.
	if (seed % 2 === 0) for (const fault of sudden) await strike(scene, fault);
	else await Promise.all(sudden.map((fault) => strike(scene, fault)));
	if (midnight) await untilAnotherDay(scene, startedAtMs);
	const asked = (await moving) ?? [];
	const copy = await copying;
	const bucketCopy = await copyingBucket;
	await scene.untilMore(eventsAfter);
	await scene.planned.untilEachOutcome(scene.sent);
	const ofCompaction = faults.filter(isOfCompaction);
	const isCompacted = ofCompaction.length > 0;
	if (isCompacted) await untilCompactable(scene);
	await scene.stopSending();
	await untilArchived(scene);
	let rows = await verifyArchive(scene);
	if (isCompacted) rows = await compact(scene, ofCompaction);
	if (move) await verifyMoved(scene, move, asked, rows);

	const ofLoad = faults.filter(isOfLoad);
	const striking = Promise.all(ofLoad.map((fault) => strike(scene, fault)));
	striking.catch(() => undefined);
	// A load is what costs most, so not of each Source and not of each seed.
	const bucketLoss = faults.find(isBucketLoss);
	const isLoaded =
		ofLoad.length > 0 ||
		isCompacted ||
		bucketLoss !== undefined ||
		older !== undefined ||
		seed % seedsPerLoad === 0;
	if (isLoaded) {
		const source = (move?.source ?? seed) % scene.routes.length;
		const route = scene.routes[source]!;
		// What a clock dated too late is loaded on its day.
		const today = utcDate(scene.clock.now());
		const own = rows.filter(
			({ sourceKey, date }) => sourceKey === route.sourceKey && date <= today,
		);
		const apart = own.filter(isQuarantined);
		const others = own.filter((row) => !isQuarantined(row));
		const loaded = await LoadedTable.open(scene, route, root);
		const failure = await loaded.run();
		if (failure) throw new Violation("table", `a Run fails with ${failure}`);
		const { table, quarantine } = await loaded.rows();
		verifyTable(route.source, others, table);
		verifyTable(`${route.source}_quarantine`, apart, quarantine);
		if (bucketLoss) {
			scene.traps.clear();
			await loseObjects(scene, bucketLoss, { source, table: loaded }, rows);
		}
		if (older && bucketCopy) {
			scene.traps.clear();
			const about = { source, table: loaded };
			await restoreOlderBucket(scene, older, bucketCopy, about, rows);
		}
	}
	scene.traps.clear();
	if (restore && copy)
		await restoreAndExpectAlarm(scene, copy, restore.isOvertaken);
	return {
		acknowledged: scene.sent.acknowledged.size,
		unknown: scene.sent.unknown.size,
		rejected: scene.sent.rejected.size,
		rows: rows.length,
		quarantined: rows.filter(isQuarantined).length,
		isLoaded,
	};
}

async function copyAfter(
	scene: Scene,
	events: number,
	copy: (scene: Scene) => Promise<string>,
): Promise<string> {
	await scene.untilMore(events);
	return copy(scene);
}

async function untilAnotherDay({ clock }: Scene, startedAtMs: number) {
	const day = (ms: number) => Math.floor(ms / 86_400_000);
	await eventually("fault", () =>
		day(clock.now()) > day(startedAtMs) ? undefined : "midnight hasn't come",
	);
}
