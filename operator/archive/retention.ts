import type { Source } from "../../crds/generated/types.ts";

/** How long the Source's events stay, as archive said last; undefined for the usual time. */
export function retentionIn(
	source: Source | undefined,
): { days: number; from?: string } | undefined {
	const { days, from } = source?.status?.retention ?? {};
	return days === undefined
		? undefined
		: { days, ...(from !== undefined && { from }) };
}
