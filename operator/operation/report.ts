import type {
	OperationSpec,
	OperationStatus,
} from "../../crds/generated/types.ts";
import { maxReportBytes } from "../../packages/contracts/manifest.ts";
import {
	type DraftResult,
	type DryRunFinding,
	type DryRunResult,
	type ImportResult,
	type InspectResult,
	maxFindings,
	maxListedRows,
	maxListedViolations,
	maxPage,
	type QuarantinedEvent,
} from "../../packages/contracts/operation.ts";
import type { Violation } from "../../packages/contracts/tracking-plan.ts";
import { maxImportParts } from "../../packages/contracts/transfer.ts";

/** The status's part that a report makes. */
export type ReportFacts = Pick<
	OperationStatus,
	"dryRun" | "draft" | "inspect" | "import"
> & {
	summary: string;
};

/**
 * Reads a Job's report. It ran in the account's namespace, so it may say anything: what the CRD wouldn't take is left out.
 * Undefined if it is no report of this type of Operation.
 */
export function readReport(
	text: string | undefined,
	type: OperationSpec["type"],
): ReportFacts | undefined {
	let report: Record<string, unknown> | null;
	try {
		report = JSON.parse(text ?? "");
	} catch {
		return undefined;
	}
	if (report?.version !== 1 || report.type !== type) return undefined;
	switch (type) {
		case "DryRun":
			return dryRunFacts(report);
		case "Draft":
			return draftFacts(report);
		case "Inspect":
			return inspectFacts(report);
		case "Import":
			return importFacts(report);
		case "Release":
		case "Export":
		case "Erase":
			// Archive's work.
			return undefined;
	}
}

function dryRunFacts(
	report: Partial<Record<keyof DryRunResult, unknown>>,
): ReportFacts | undefined {
	const { events, planned, annotated, quarantined, rejected, otherFindings } =
		report;
	const counts = { events, planned, annotated, quarantined, rejected };
	if (!areCounts(counts) || !isCount(otherFindings)) return undefined;
	if (!Array.isArray(report.findings)) return undefined;
	const findings = report.findings.slice(0, maxFindings).map(findingIn);
	if (!findings.every((finding) => finding !== undefined)) return undefined;
	const parts = (["planned", "annotated", "quarantined", "rejected"] as const)
		.map((name) => `${counts[name]} ${name}`)
		.join(", ");
	return {
		summary: `${countText(counts.events, "event")}: ${parts}`,
		dryRun: {
			...counts,
			findings,
			...(otherFindings > 0 && { otherFindings }),
		},
	};
}

function findingIn(value: unknown): DryRunFinding | undefined {
	const { type, kind, path, message, events, example } = (value ??
		{}) as Record<string, unknown>;
	if (!isCount(events)) return undefined;
	return {
		...(typeof type === "string" && { type: cut(type) }),
		kind: cut(kind) as DryRunFinding["kind"],
		path: cut(path),
		message: cut(message),
		events,
		example: cut(example),
	};
}

function draftFacts(
	report: Partial<Record<keyof DraftResult, unknown>>,
): ReportFacts | undefined {
	const { events, eventTypes, trackingPlan } = report;
	if (!isCount(events) || !isCount(eventTypes)) return undefined;
	if (typeof trackingPlan !== "string") return undefined;
	if (trackingPlan.length > maxReportBytes) return undefined;
	return {
		summary: `${countText(eventTypes, "event type")} from ${countText(events, "event")}`,
		draft: { events, eventTypes, trackingPlan },
	};
}

function inspectFacts(
	report: Partial<Record<keyof InspectResult, unknown>>,
): ReportFacts | undefined {
	const { events, page, hasMore } = report;
	if (!isCount(events) || !Array.isArray(page)) return undefined;
	const listed = page.slice(0, maxPage).map(quarantinedEventIn);
	if (!listed.every((event) => event !== undefined)) return undefined;
	return {
		summary: `${countText(events, "event")} in quarantine, ${listed.length} listed`,
		inspect: { events, page: listed, hasMore: hasMore === true },
	};
}

function quarantinedEventIn(value: unknown): QuarantinedEvent | undefined {
	const {
		eventID,
		timestamp,
		type,
		plan,
		planVersion,
		violations,
		otherViolations,
	} = (value ?? {}) as Record<string, unknown>;
	const at = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
	if (Number.isNaN(at) || !Array.isArray(violations)) return undefined;
	const optional = Object.entries({ type, plan, planVersion })
		.filter(([, text]) => typeof text === "string")
		.map(([name, text]) => [name, cut(text)]);
	return {
		eventID: cut(eventID),
		timestamp: new Date(at).toISOString(),
		...Object.fromEntries(optional),
		violations: violations.slice(0, maxListedViolations).map((violation) => ({
			kind: cut(violation?.kind) as Violation["kind"],
			path: cut(violation?.path),
			message: cut(violation?.message),
		})),
		...(isCount(otherViolations) && otherViolations > 0 && { otherViolations }),
	};
}

function importFacts(
	report: Partial<Record<keyof ImportResult, unknown>>,
): ReportFacts | undefined {
	const { events, duplicates, invalidRows, parts, invalid } = report;
	// A Job of an earlier version doesn't count them.
	const { otherTimes = 0 } = report;
	const counts = { events, duplicates, invalidRows, parts };
	if (!areCounts(counts) || counts.parts > maxImportParts) return undefined;
	if (!Array.isArray(invalid) || !isCount(otherTimes)) return undefined;
	const listed = invalid.slice(0, maxListedRows).map((each) => ({
		file: cut(each?.file),
		row: isCount(each?.row) ? each.row : 0,
		message: cut(each?.message),
	}));
	return {
		summary: `${countText(counts.events, "event")} to add`,
		import: {
			...counts,
			...(otherTimes > 0 && { otherTimes }),
			...(listed.length > 0 && { invalid: listed }),
		},
	};
}

function areCounts<Name extends string>(
	values: Record<Name, unknown>,
): values is Record<Name, number> {
	return Object.values(values).every(isCount);
}

function isCount(value: unknown): value is number {
	return Number.isSafeInteger(value) && (value as number) >= 0;
}

function cut(value: unknown): string {
	return typeof value === "string" ? value.slice(0, 200) : "";
}

function countText(count: number, noun: string): string {
	return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
