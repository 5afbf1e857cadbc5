import type { LaneOptions } from "./lane.ts";
import { rooms, type Tier, testFiles, tierOf } from "./tiers.ts";

/** Lanes that run side by side, a few at a time, in this order. */
export type Stage = Pick<LaneOptions, "name" | "project" | "tier" | "shard">[];

/** Into how many lanes a room's files of one tier are divided, because they would take longer than all other lanes. */
const shards: Partial<Record<Tier, Record<string, number>>> = {
	laptop: { "data-plane": 3, "control-plane": 2 },
	all: { "data-plane": 4, "control-plane": 2 },
};
/** What it measures would be taken for the slowness of what else runs. */
const alone = "alone";
/** They wait longest, for Pods that end, servers that were killed and whole starts, so they begin first. */
const longest = ["node", "promises", "local-mode"];

/**
 * A tier's lanes: one for each room that has files of it, and one for those beside the code. A lane waits much of its time, so side by side they keep
 * all cores busy.
 */
export function suiteOf(
	tier: Exclude<Tier, "check" | "deep">,
	files = testFiles(),
): Stage[] {
	const ofTier = files.filter((file) => tierOf(file) === tier);
	const own = rooms(ofTier);
	const besideAny = ofTier.some(
		(file) => !own.some(({ folder }) => file.startsWith(`${folder}/`)),
	);
	const names = own
		.map(({ name }) => name)
		.toSorted(
			(a, b) => Number(longest.includes(b)) - Number(longest.includes(a)),
		);
	const beside = [
		...names.filter((name) => name !== alone),
		...(besideAny ? ["beside"] : []),
	].flatMap((project): Stage => {
		const count = shards[tier]?.[project] ?? 1;
		return Array.from({ length: count }, (_, i) => ({
			name: count > 1 ? `${project}-${i + 1}` : project,
			project,
			tier,
			...(count > 1 && { shard: `${i + 1}/${count}` }),
		}));
	});
	const last: Stage = names.includes(alone)
		? [{ name: alone, project: alone, tier }]
		: [];
	const unit: Stage =
		tier === "laptop" ? [{ name: "unit", project: "unit", tier: "check" }] : [];
	return [unit, beside, last].filter((stage) => stage.length > 0);
}
