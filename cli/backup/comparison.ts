import { isDeepStrictEqual } from "node:util";
import type { BackedUpObject } from "./kept.ts";

/** A resource in the cluster and in a backup. */
export interface Compared {
	kind: string;
	/** Empty of a namespace itself. */
	namespace: string;
	name: string;
	/**
	 * `Same` in both; `Changed`, so a restore sets what the backup has, and leaves fields that the backup lacks; only in the backup, so a restore creates it; or only in
	 * the cluster, which a restore leaves.
	 */
	state: "Same" | "Changed" | "OnlyInBackup" | "OnlyInCluster";
	/** Of one that has changed: where, such as `spec.schedule.cron`. */
	fields: string[];
}

/** Compares what is in the cluster with a backup, in the order of the backup, and then what only the cluster has. */
export function compared(
	live: readonly BackedUpObject[],
	backup: readonly BackedUpObject[],
): Compared[] {
	const liveByName = new Map(live.map((each) => [keyOf(each), each]));
	const backedUp = new Set(backup.map(keyOf));
	return [
		...backup.map((each): Compared => {
			const now = liveByName.get(keyOf(each));
			if (!now) return { ...named(each), state: "OnlyInBackup", fields: [] };
			const fields = differences(now, each);
			const state = fields.length > 0 ? "Changed" : "Same";
			return { ...named(each), state, fields };
		}),
		...live
			.filter((each) => !backedUp.has(keyOf(each)))
			.map(
				(each): Compared => ({
					...named(each),
					state: "OnlyInCluster",
					fields: [],
				}),
			),
	];
}

function keyOf({ kind, metadata }: BackedUpObject): string {
	return `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
}

function named({ kind, metadata: { namespace = "", name } }: BackedUpObject) {
	return { kind, namespace, name };
}

/** Paths of what differs. A list that differs is one. */
function differences(a: unknown, b: unknown, path = ""): string[] {
	if (isDeepStrictEqual(a, b)) return [];
	if (!isObject(a) || !isObject(b)) return [path];
	return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) =>
		differences(a[key], b[key], path ? `${path}.${key}` : key),
	);
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
