import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import { clockFault } from "../../../packages/contracts/utc-date.ts";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { RequestFailure } from "./errors.ts";

/**
 * Throws {@link RequestFailure} ArchiveBusy if so much of the account's work waits for its turn.
 * @param work what waits, such as "Operations".
 */
export function requireTurn(
	turns: Pick<FairLimit, "waitingOf">,
	account: string,
	most: number,
	work: string,
): void {
	if (turns.waitingOf(account) >= most)
		throw new RequestFailure(
			"ArchiveBusy",
			`${most} ${work} of ${account} wait for their turn`,
		);
}

/** Throws {@link RequestFailure} SourceDeleted if the source is deleted, as of the last refresh of the tombstones. */
export function requireUndeleted(
	tombstones: Tombstones,
	source: SourceName,
): void {
	if (tombstones.has(source))
		throw new RequestFailure(
			"SourceDeleted",
			`The events of source ${source.sourceKey} of ${source.account} are deleted`,
		);
}

const maxTombstonesAgeMs = 60_000;

/** The same, as of the last minute. */
export async function requireUndeletedNow(
	tombstones: Tombstones,
	source: SourceName,
): Promise<void> {
	await tombstones.refresh(maxTombstonesAgeMs);
	requireUndeleted(tombstones, source);
}

/** Throws {@link RequestFailure} ClocksDiffer. @param askedAt when operator asked, by its own clock. */
export function requireOperatorsClock(
	askedAt: string | undefined,
	nowMs: number,
): void {
	const fault = askedAt === undefined ? askedAt : clockFault(askedAt, nowMs);
	requireClock("The operator's", fault, "its Runs could leave out days");
}

/** Throws {@link RequestFailure} ClocksDiffer. @param consequence of going on nevertheless. */
export function requireSameClocks(
	{ clockFault }: { clockFault: string | undefined },
	consequence: string,
): void {
	requireClock("NATS's", clockFault, consequence);
}

function requireClock(
	whose: string,
	fault: string | undefined,
	consequence: string,
): void {
	if (fault === undefined) return;
	throw new RequestFailure(
		"ClocksDiffer",
		`${whose} clock is ${fault} of archive's, so ${consequence}`,
	);
}

/** A record of the bucket as it was read. Throws if this archive can't read it. @param what names it. */
export function requireVersion<Record extends { version: 1 }>(
	record: Record,
	what: string,
): Record {
	if (record?.version === 1) return record;
	throw new Error(
		`${what} has version ${record?.version}; this archive knows version 1. Upgrade archive.`,
	);
}
