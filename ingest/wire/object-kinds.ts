import type { DateFolder } from "../../packages/bucket/object-keys.ts";
import {
	type EventState,
	statesApart,
} from "../../packages/contracts/stored-event.ts";

/** How records and cuts say which kind of a date's objects is meant. */
export type KindMark = Pick<DateFolder, "quarantined">;

interface AboutKind {
	mark: KindMark;
	/** In the bucket. */
	folder: string;
	/** Of the rows of its objects: the later one of a row that was added to its date since. */
	states: readonly [EventState, EventState?];
	/** For people, after an event's date. */
	words: string;
}

const kinds = {
	objects: { mark: {}, folder: "events", states: ["accepted"], words: "" },
	quarantined: {
		mark: { quarantined: true },
		folder: "quarantine",
		states: statesApart,
		words: " in quarantine",
	},
} as const satisfies Record<string, AboutKind>;

/** What a source's objects of a date are: its rows, and what its tracking plan keeps apart from them. */
export type ObjectKind = keyof typeof kinds;
export const objectKinds = Object.keys(kinds) as ObjectKind[];

export function aboutKind(kind: ObjectKind): AboutKind {
	return kinds[kind];
}

/** One for each kind. */
export function perKind<T>(
	make: (kind: ObjectKind) => T,
): Record<ObjectKind, T> {
	return { objects: make("objects"), quarantined: make("quarantined") };
}

/** Of a source or a date: where the objects of a kind are. */
export function ofKind<Name extends object>(
	name: Name,
	kind: ObjectKind,
): Name & KindMark {
	return { ...name, ...kinds[kind].mark };
}

export function kindOf({ quarantined }: { quarantined?: boolean }): ObjectKind {
	return quarantined ? "quarantined" : "objects";
}
