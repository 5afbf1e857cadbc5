/**
 * An object that a Run got of a source's events before their cut. The events are in objects of cuts later: those of the
 * stream whose cuts begin at one of these sequences have all of them, and perhaps more.
 */
export interface EarlyObject {
	stream: string;
	first: number;
	last: number;
	rows: number;
}

/** How long early objects stay. */
export const earlyDays = 3;

/** The same events have the same name, whichever Run gets them. */
export function earlyName({ stream, first, last, rows }: EarlyObject): string {
	return `${stream}-${padded(first)}-${padded(last)}-${rows}.parquet`;
}

/** Undefined for an object of another kind. */
export function readEarlyName(name: string): EarlyObject | undefined {
	const found = /^(.+)-(\d{20})-(\d{20})-(\d+)\.parquet$/.exec(name);
	if (!found) return undefined;
	const [, stream, ...numbers] = found as unknown as string[];
	const [first, last, rows] = numbers.map(Number) as [number, number, number];
	return { stream: stream!, first, last, rows };
}

/** Whether an object, early or of a cut, may have events of this one. Others have none. */
export function follows(name: string, early: EarlyObject): boolean {
	const [, stream, first] =
		/^(.+?)-(\d{20})(?:-\d{20}-\d+)?\.parquet$/.exec(name) ?? [];
	return (
		stream === early.stream &&
		Number(first) >= early.first &&
		Number(first) <= early.last
	);
}

function padded(sequence: number): string {
	return String(sequence).padStart(20, "0");
}
