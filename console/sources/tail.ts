import type { ServerEvent } from "../../packages/service/event-stream.ts";
import { sources as words } from "../messages/sources.ts";

/** An event or a refusal as a tail of the API sends it. */
export interface TailRow {
	id: string;
	kind: "accepted" | "quarantined" | "refused";
	time: string;
	type?: string;
	bytes?: number;
	body?: string;
	message?: string;
}

export interface TailState {
	/** The newest first. */
	rows: TailRow[];
	/** What came while it was paused. */
	held: TailRow[];
	/** How many came and aren't shown. */
	leftOut: number;
	/** Why events don't show now. Until the API says that they do, those that come are missed. */
	waiting: string | undefined;
	isPaused: boolean;
}

export const emptyTail: TailState = {
	rows: [],
	held: [],
	leftOut: 0,
	waiting: words.connecting,
	isPaused: false,
};

/** As many as a person looks through. The others are counted. */
const mostRows = 200;
/** Of thousands that come in a second, these are shown of each piece. */
const mostOfPiece = 50;

/** The tail after a piece of its stream. A flood is sampled: the newest of each piece are shown, the others counted. */
export function afterPiece(
	state: TailState,
	piece: readonly ServerEvent[],
): TailState {
	let { waiting, leftOut } = state;
	const came: TailRow[] = [];
	for (const { event, data, id } of piece) {
		const value = parsed(data);
		if (event === "open") waiting = undefined;
		else if (event === "waiting") waiting = String(value.message ?? "");
		else if (event === "left-out") leftOut += Number(value.count ?? 0);
		else if (isRowKind(event))
			came.push({ ...value, id: id ?? String(value.time), kind: event });
	}
	leftOut += Math.max(0, came.length - mostOfPiece);
	const newest = came.slice(-mostOfPiece).reverse();
	return state.isPaused
		? {
				...state,
				waiting,
				leftOut,
				held: [...newest, ...state.held].slice(0, mostRows),
			}
		: {
				...state,
				waiting,
				leftOut,
				rows: [...newest, ...state.rows].slice(0, mostRows),
			};
}

/** A tab that joins the tail later must know the last one. */
export function saysWhetherEventsShow({ event }: ServerEvent): boolean {
	return event === "open" || event === "waiting";
}

export function afterPause(state: TailState): TailState {
	if (!state.isPaused) return { ...state, isPaused: true };
	const rows = [...state.held, ...state.rows].slice(0, mostRows);
	return { ...state, rows, held: [], isPaused: false };
}

function isRowKind(event: string): event is TailRow["kind"] {
	return ["accepted", "quarantined", "refused"].includes(event);
}

function parsed(data: string): Omit<TailRow, "id" | "kind"> & {
	count?: number;
} {
	try {
		return JSON.parse(data);
	} catch {
		return { time: "" };
	}
}
