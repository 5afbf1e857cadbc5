import { availableParallelism } from "node:os";
import { megabytes, minutes, type Received } from "./archive-stream.ts";
import { type BinaryName, pinnedBinaries } from "./pinned.ts";

/** What is known of programs that are on their way. */
export interface ServersOnTheirWay {
	/** The archives that come now. */
	downloads: Received[];
	/** The groups that still have to be built, the one that Go builds now first. */
	builds: BinaryName[][];
	/** What Go does for the first of them. */
	step?: string;
	compiling?: { compiled: number; total: number; secondsSoFar: number };
	/** In place of both: somebody else makes them. */
	waitingFor?: number;
}

/** One line for a person, with what is left as far as that is known. */
export function describeProgress(
	on: ServersOnTheirWay,
	cores: number = availableParallelism(),
): string {
	if (on.waitingFor !== undefined)
		return `waiting for process ${on.waitingFor} to get them`;
	const words = on.downloads.map(
		({ bytes, total }) =>
			`downloading ${megabytes(bytes)}${total ? ` of ${megabytes(total)}` : ""}`,
	);
	const [now] = on.builds;
	if (now)
		words.push(`building ${now.join(", ")}${on.step ? ` (${on.step})` : ""}`);
	const left = secondsLeft(on, cores);
	if (left !== undefined) words.push(`about ${minutes(left)} left`);
	return words.join(", ");
}

/** Downloads and builds run side by side. Undefined when a part of them is unknown. */
export function secondsLeft(
	{ downloads, builds, compiling }: ServersOnTheirWay,
	cores: number,
): number | undefined {
	const each = downloads.map((download) => download.secondsLeft);
	const ofBuilds = builds.map((group, place) =>
		place === 0 && compiling && compiling.compiled > compiling.total / 10
			? (compiling.secondsSoFar / compiling.compiled) *
				(compiling.total - compiling.compiled)
			: buildSeconds(group, cores),
	);
	each.push(
		ofBuilds.reduce<number | undefined>(
			(sum, part) =>
				sum === undefined || part === undefined ? undefined : sum + part,
			0,
		),
	);
	return each.includes(undefined) ? undefined : Math.max(...(each as number[]));
}

/** What building them takes on this machine; undefined when nobody has measured one of them. */
export function buildSeconds(
	names: BinaryName[],
	cores: number = availableParallelism(),
): number | undefined {
	let sum = 0;
	for (const name of names) {
		const { buildSeconds: onTwoCores } = pinnedBinaries[name];
		if (onTwoCores === undefined) return undefined;
		sum += (onTwoCores * 2) / cores;
	}
	return sum;
}
