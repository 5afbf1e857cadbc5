import {
	type DraftResult,
	type DryRunResult,
	type Finding,
	maxFindings,
	maxReportBytes,
} from "../../contracts/operation.ts";
import type {
	OperationSpec,
	OperationStatus,
} from "../../crds/generated/types.ts";

/** The status's part that a report makes. */
export type ReportFacts = Pick<OperationStatus, "dryRun" | "draft"> & {
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
	return type === "DryRun" ? dryRunFacts(report) : draftFacts(report);
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

function findingIn(value: unknown): Finding | undefined {
	const { type, kind, path, message, events, example } = (value ??
		{}) as Record<string, unknown>;
	if (!isCount(events)) return undefined;
	return {
		...(typeof type === "string" && { type: cut(type) }),
		kind: cut(kind) as Finding["kind"],
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
