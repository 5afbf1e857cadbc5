import type {
	BodyValueType,
	RescuedValues,
	TableColumn,
} from "../../contracts/job.ts";
import { pointerParts } from "../../service/json-pointer.ts";

export type BodyColumn =
	| ({ bodyPointer: string } & BodyValueType)
	| RescuedValues;

/** Whether the column has what the others don't hold. */
export function isRest(from: TableColumn["from"]): from is RescuedValues {
	return typeof from === "object" && "isRest" in from;
}

export interface Paths {
	columns: readonly BodyColumn[];
	root: Path;
}

/** A place in bodies that pointers name, or that is on the way to one. */
export interface Path {
	/** Those that have this value. */
	columns: number[];
	/** Those that have this value or one in it. */
	within: number[];
	parts: Map<string, Path>;
}

const newPath = (): Path => ({ columns: [], within: [], parts: new Map() });

export function pathsOf(columns: readonly BodyColumn[]): Paths {
	const root = newPath();
	for (const [number, column] of columns.entries()) {
		if (isRest(column)) continue;
		let path = root;
		for (const part of pointerParts(column.bodyPointer)) {
			const next = path.parts.get(part) ?? newPath();
			path.parts.set(part, next);
			next.within.push(number);
			path = next;
		}
		path.columns.push(number);
	}
	return { columns, root };
}
