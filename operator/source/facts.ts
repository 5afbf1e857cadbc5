import type { SourceStatus } from "../../crds/generated/types.ts";
import type {
	AddedLedger,
	SourceLedger,
} from "../../packages/contracts/ledger.ts";
import { keptFrom } from "../../packages/contracts/retention.ts";
import { type UtcDate, utcDate } from "../../packages/contracts/utc-date.ts";
import type { SourceState } from "./state.ts";

const factNames = [
	"firstEventDate",
	"lastEventTime",
	"archivedThrough",
	"counts",
	"deviations",
	"otherDeviations",
	"retention",
] as const;

export type LedgerFacts = Pick<SourceStatus, (typeof factNames)[number]>;

/**
 * What archive knows about a Source's events, for the status. The earlier facts stay while archive's can't be read.
 * @param sourceKey What the events are stored under, for all that the status says.
 */
export function factsOf(
	status: SourceStatus | undefined,
	{
		ledger,
		released,
		retention,
		kept,
	}: Pick<SourceState, "ledger" | "released" | "retention" | "kept">,
	sourceKey: string | undefined,
	now: number,
): LedgerFacts {
	const { retention: known, ...counted } = knownFacts(status);
	// Archive never withdraws its word. Only one about the Source has a first date.
	const isKnown = known?.from !== undefined && status?.sourceKey === sourceKey;
	const own = kept ?? (isKnown ? known : undefined);
	const days = own?.days;
	const imported = importedIn(
		released,
		keptFrom(
			days === undefined ? undefined : { days, from: own?.from },
			utcDate(now),
		),
	);
	return {
		...(ledger ? ledgerFacts(ledger, released, imported) : counted),
		// A Source that nobody has sent to may have imported events.
		...(!ledger &&
			released && {
				counts: { ...counted.counts, imported },
			}),
		...(retention || kept
			? { retention: retentionFacts(retention, own) }
			: known && { retention: known }),
	};
}

function retentionFacts(
	usual: SourceState["retention"],
	own: LedgerFacts["retention"],
): NonNullable<LedgerFacts["retention"]> {
	return {
		...(usual && { days: usual.days, enforcedBy: usual.enforcedBy }),
		...(own?.from && { days: own.days, from: own.from }),
		...(own?.next && { next: own.next }),
	};
}

/** They change with every cut, other than the rest of the status. */
export function withoutFacts(status: SourceStatus = {}): SourceStatus {
	const rest = { ...status };
	for (const name of factNames) delete rest[name];
	return rest;
}

function knownFacts(status: SourceStatus = {}): LedgerFacts {
	const known = factNames.filter((name) => status[name] !== undefined);
	return Object.fromEntries(known.map((name) => [name, status[name]]));
}

function ledgerFacts(
	ledger: SourceLedger,
	released: AddedLedger | undefined,
	imported: number,
): LedgerFacts {
	const { quarantined: apart = {} } = ledger;
	const freed = sumOf(
		Object.entries(apart).map(([date, events]) =>
			// The ledger may be published later than its releases.
			Math.min(released?.released[date]?.events ?? 0, events),
		),
	);
	const archived = sumOf(Object.values(ledger.archived)) + freed;
	const quarantined = sumOf(Object.values(apart)) - freed;
	const { entries, others } = ledger.deviations ?? {};
	return {
		firstEventDate: ledger.firstEventDate,
		lastEventTime: ledger.lastEventTime,
		archivedThrough: ledger.archivedThrough,
		counts: {
			accepted: archived + quarantined,
			archived,
			quarantined,
			released: freed,
			imported,
		},
		...(entries && { deviations: entries }),
		...(others && { otherDeviations: others }),
	};
}

/** Archive publishes the ledger at the next release or import, not when it deletes a date. */
function importedIn(released: AddedLedger | undefined, first: UtcDate): number {
	const dates = Object.entries(released?.released ?? {});
	return sumOf(
		dates.map(([date, { imported = 0 }]) => (date >= first ? imported : 0)),
	);
}

function sumOf(numbers: number[]): number {
	return numbers.reduce((sum, each) => sum + each, 0);
}
