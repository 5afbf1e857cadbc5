import {
	type DryRunFinding,
	type DryRunResult,
	maxFindings,
} from "../../packages/contracts/operation.ts";
import type {
	PlanDocument,
	Violation,
} from "../../packages/contracts/tracking-plan.ts";
import { compilePlan } from "../../packages/tracking-plan/compile.ts";
import { PlanValidator } from "../../packages/tracking-plan/plan-validator.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import type { EventRow } from "./stored-events.ts";
import { TypeHeader } from "./stored-events.ts";

/** Senders choose types and paths, so there may be any number of different findings. */
const maxCounted = 10_000;

/** Validates stored events by a plan, and counts what the plan would have done with them. */
export class DryRun {
	readonly #validator: PlanValidator;
	readonly #header: TypeHeader;
	readonly #counts = { planned: 0, annotated: 0, quarantined: 0, rejected: 0 };
	readonly #findings = new Map<string, DryRunFinding>();
	/** Kinds and paths that were met after there were {@link maxCounted}. Some may be the same. */
	#uncounted = 0;

	/** Throws {@link JobFailure} PlanInvalid. */
	constructor(plan: PlanDocument) {
		const compiled = compilePlan(plan);
		if ("fault" in compiled)
			throw new JobFailure("PlanInvalid", compiled.fault);
		this.#validator = new PlanValidator(plan, compiled.code);
		this.#header = new TypeHeader(plan.eventType);
	}

	take(event: EventRow): void {
		const { outcome, record } = this.#validator.validateText(
			Buffer.from(event.body),
			this.#header.of(event),
		);
		const { type, violations = [] } = record;
		const counts = this.#counts;
		if (outcome === "Reject") counts.rejected++;
		else if (outcome === "Quarantine") counts.quarantined++;
		else if (violations.length > 0) counts.annotated++;
		else counts.planned++;
		const seen = new Set<string>();
		for (const violation of violations)
			this.#count(event.id, type, violation, seen);
	}

	/** Throws {@link JobFailure} EventTypeUnknown. */
	get result(): DryRunResult {
		this.#header.requireFound();
		const { planned, annotated, quarantined, rejected } = this.#counts;
		const findings = [...this.#findings.values()].sort(
			(a, b) => b.events - a.events || compareKeys(a, b),
		);
		return {
			events: planned + annotated + quarantined + rejected,
			...this.#counts,
			findings: findings.slice(0, maxFindings),
			otherFindings:
				Math.max(0, findings.length - maxFindings) + this.#uncounted,
		};
	}

	#count(
		example: string,
		type: string | undefined,
		{ kind, path: place, message }: Violation,
		seen: Set<string>,
	): void {
		const path = withoutIndices(place);
		const key = JSON.stringify([type, kind, path]);
		if (seen.has(key)) return;
		seen.add(key);
		const known = this.#findings.get(key);
		if (known) known.events++;
		else if (this.#findings.size >= maxCounted) this.#uncounted++;
		else
			this.#findings.set(key, {
				...(type !== undefined && { type }),
				kind,
				path,
				message,
				events: 1,
				example,
			});
	}
}

/** The same events give the same report, in whatever order they are read: by type, then path, then kind. */
function compareKeys(a: DryRunFinding, b: DryRunFinding): number {
	const [left, right] = [a, b].map((finding) =>
		[finding.type ?? "", finding.path, finding.kind].join("\0"),
	);
	return left! < right! ? -1 : 1;
}

/** Each item of an array would be a finding of its own. A property whose name is a number looks the same, which hurts little. */
function withoutIndices(path: string): string {
	return path.replaceAll(/\/\d+(?=\/|$)/g, "/*");
}
