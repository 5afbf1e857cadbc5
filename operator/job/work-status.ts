import { type Condition, setCondition } from "../../kube/conditions.ts";
import type { ObjectMeta } from "../../kube/resource.ts";

/** A Run or an Operation: work that a Job carries out. */
interface Work<S> {
	metadata: ObjectMeta;
	status?: S;
}

export type Finding = Pick<Condition, "type" | "status" | "reason" | "message">;

/** The whole status with these facts and findings. */
export function statusWith<S extends { conditions?: Condition[] }>(
	{ metadata, status }: Work<S>,
	facts: S,
	findings: Finding[],
	now: number,
): S {
	const observedGeneration = metadata.generation ?? 0;
	return {
		...status,
		observedGeneration,
		...facts,
		conditions: findings.reduce(
			(conditions, finding) =>
				setCondition(conditions, { ...finding, observedGeneration }, now),
			status?.conditions ?? [],
		),
	};
}

/** As with a Job, `Failed` is a condition of its own beside `Complete`. */
export function failedFindings(
	complete: string,
	failed: string,
	message: string,
): Finding[] {
	return [
		{ type: "Complete", status: "False", reason: complete, message },
		{ type: "Failed", status: "True", reason: failed, message },
	];
}

/** The work without a field of its status. */
export function withoutFact<W extends Work<object>>(
	work: W,
	field: keyof NonNullable<W["status"]>,
): W {
	const { [field]: _, ...status } = (work.status ?? {}) as NonNullable<
		W["status"]
	>;
	return { ...work, status };
}
