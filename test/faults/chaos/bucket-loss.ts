import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { FolderFindings } from "../../../ingest/lake/verify/verification.ts";
import { sendPersistently } from "../../support/senders/persistent-sender.ts";
import { isQuarantined, type ObjectRow, verifyTable } from "./checks/checks.ts";
import { objectsOf, rowsOf, untilArchived } from "./checks/verify.ts";
import { type LoadedTable, refusedManifest } from "./load.ts";
import type { BucketLoss } from "./plan.ts";
import type { Scene } from "./scene/scene.ts";
import { eventually, Violation } from "./scene/violation.ts";

export const eventsAfter = 12;

/**
 * Objects are gone from the bucket, whose rows a table may have. Looks whether people are told of exactly these, follows what they
 * are told, has a Run add what came since, and looks at the table.
 * @param source the table's, among the scene's routes. @param rows of the bucket.
 */
export async function loseObjects(
	scene: Scene,
	fault: BucketLoss,
	{ source, table }: { source: number; table: LoadedTable },
	rows: readonly ObjectRow[],
): Promise<void> {
	const route = () => scene.routes[source]!;
	const before = await table.rows();
	const gone = goneObjects(fault, route().sourceKey, rows);
	for (const object of gone) await rm(join(scene.directory, object));
	const lost = rows.filter(({ object }) => gone.has(object));

	const refusal = await refusedManifest(scene, route());
	if (refusal !== "ObjectMissing")
		throw new Violation(
			"told",
			`a Run of ${route().source} is answered ${refusal ?? "with a manifest"}, though ${gone.size} objects are gone`,
		);
	// What a newest cut lacks may still come for two minutes.
	scene.send();
	await scene.untilMore(eventsAfter);
	await scene.stopSending();
	await untilArchived(scene);
	const told = await findings(scene, 1);
	verifyTold(told, "missing", lost);
	for (const { account, sourceKey, date } of told) {
		const dated = ["--namespace", account, "--source", sourceKey];
		await scene.ledger("accept-loss", ...dated, "--date", date);
	}
	verifyTold(await findings(scene, 0), "accepted", lost);

	await sendMore(scene, source);
	await untilArchived(scene);
	const failure = await table.run(fault.adds ? { adds: true } : {});
	if (failure)
		throw new Violation(
			"table",
			`a Run fails with ${failure}, though the loss is accepted`,
		);
	const after = await rowsOf(scene, await objectsOf(scene));
	const own = after.filter(({ sourceKey }) => sourceKey === route().sourceKey);
	const known = new Set(rows.map(({ event_id }) => event_id));
	const added = own.filter(({ event_id }) => !known.has(event_id));
	// What the table has of lost objects stays in it.
	const now = await table.rows();
	const has = new Set(now.table.map(({ event_id }) => event_id));
	const less = before.table.filter(({ event_id }) => !has.has(event_id));
	if (less.length > 0)
		throw new Violation(
			"table",
			`the table of ${route().source} lacks ${less.length} of ${before.table.length} rows that it had; the bucket has lost ${lost.length}`,
		);
	verifyTable(
		route().source,
		[...before.table, ...added.filter((row) => !isQuarantined(row))],
		now.table,
	);
	verifyTable(
		`${route().source}_quarantine`,
		[...before.quarantine, ...added.filter(isQuarantined)],
		now.quarantine,
	);
}

/** One object of the Source, or all objects of all Sources of the newest date that it has. */
function goneObjects(
	{ kind, nth }: BucketLoss,
	sourceKey: string,
	rows: readonly ObjectRow[],
): Set<string> {
	const own = rows.filter((row) => row.sourceKey === sourceKey);
	if (kind === "lost-object") {
		const objects = [...new Set(own.map(({ object }) => object))].sort();
		return new Set([objects[nth % objects.length]!]);
	}
	const newest = own
		.map(({ date }) => date)
		.sort()
		.at(-1);
	return new Set(
		rows.filter(({ date }) => date === newest).map(({ object }) => object),
	);
}

/** What `tidemill ledger verify` says of the seed's Sources, which ends with this code. */
async function findings(
	scene: Scene,
	expected: number,
): Promise<FolderFindings[]> {
	let dates: FolderFindings[] = [];
	await eventually("told", async () => {
		const answer = await scene.ledger("verify", "-o", "json");
		const { exitCode, stdout, stderr } = answer;
		if (exitCode !== expected)
			return `ledger verify ends with ${exitCode}, and ${expected} was to come: ${stdout}${stderr}`;
		({ dates } = JSON.parse(stdout));
		return undefined;
	});
	const keys = new Set(scene.routes.map(({ sourceKey }) => sourceKey));
	return dates.filter(({ sourceKey }) => keys.has(sourceKey));
}

/** Throws a {@link Violation} unless exactly these rows are told, object by object. */
function verifyTold(
	told: readonly FolderFindings[],
	as: "missing" | "accepted",
	lost: readonly ObjectRow[],
): void {
	const lines = (of: string[]) => of.sort().join("\n");
	const said = told.flatMap((each) =>
		each[as].map(({ folder, name, rows }) =>
			[folder, each.sourceKey, each.date, name, rows].join(" "),
		),
	);
	const objects = Map.groupBy(lost, ({ object }) => object);
	const due = [...objects].map(([object, rows]) =>
		[
			object.slice(0, object.indexOf("/")),
			rows[0]!.sourceKey,
			rows[0]!.date,
			basename(object),
			rows.length,
		].join(" "),
	);
	if (lines(said) !== lines(due))
		throw new Violation(
			"told",
			`ledger verify says that there are ${as}:\n${lines(said)}\nand it is:\n${lines(due)}`,
		);
}

/** To the table's Source. */
export async function sendMore(scene: Scene, source: number): Promise<void> {
	const { acknowledged } = scene.sent;
	const enough = acknowledged.size + eventsAfter;
	let n = 0;
	await sendPersistently({
		urls: [scene.urls[source]!],
		senders: 2,
		body: () => scene.body(source, { late: n++ }),
		isDone: () => acknowledged.size >= enough,
		sent: scene.sent,
		now: () => scene.clock.now(),
	});
}
