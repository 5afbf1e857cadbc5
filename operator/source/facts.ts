import type { RetentionState, SourceLedger } from "../../contracts/ledger.ts";
import type { UtcDate } from "../../contracts/utc-date.ts";
import type { SourceStatus } from "../../crds/generated/types.ts";

const factNames = [
	"firstEventDate",
	"lastEventTime",
	"archivedThrough",
	"counts",
	"deviations",
	"otherDeviations",
	"retention",
] as const;

type Facts = Pick<SourceStatus, (typeof factNames)[number]>;

/** What archive knows about a Source's events, for the status. The earlier facts stay while archive's can't be read. */
export function factsOf(
	status: SourceStatus | undefined,
	ledger: SourceLedger | undefined,
	retention: RetentionState | undefined,
): Facts {
	const { retention: known, ...counted } = knownFacts(status);
	return {
		...(ledger ? ledgerFacts(ledger) : counted),
		...(retention
			? {
					retention: {
						days: retention.days,
						enforcedBy: retention.enforcedBy,
					},
				}
			: known && { retention: known }),
	};
}

/** They change with every cut, other than the rest of the status. */
export function withoutFacts(status: SourceStatus = {}): SourceStatus {
	const rest = { ...status };
	for (const name of factNames) delete rest[name];
	return rest;
}

function knownFacts(status: SourceStatus = {}): Facts {
	const known = factNames.filter((name) => status[name] !== undefined);
	return Object.fromEntries(known.map((name) => [name, status[name]]));
}

function ledgerFacts(ledger: SourceLedger): Facts {
	const archived = sumOf(ledger.archived);
	const quarantined = sumOf(ledger.quarantined);
	const { entries, others } = ledger.deviations ?? {};
	return {
		firstEventDate: ledger.firstEventDate,
		lastEventTime: ledger.lastEventTime,
		archivedThrough: ledger.archivedThrough,
		counts: { accepted: archived + quarantined, archived, quarantined },
		...(entries && { deviations: entries }),
		...(others && { otherDeviations: others }),
	};
}

function sumOf(events: Record<UtcDate, number> = {}): number {
	return Object.values(events).reduce((a, b) => a + b, 0);
}
