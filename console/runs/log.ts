import type { RunCounts } from "./progress.ts";

/** The end of a log that follows: so many lines, and how many came before them. */
export interface LogTail {
	lines: LogLine[];
	dropped: number;
	/** A line whose end hasn't come yet. */
	rest: string;
	/** Of the next line. It stays the same however many are dropped. */
	nextId: number;
	/** What load last said of how far it is. */
	progress?: RunCounts;
}

export interface LogLine {
	id: number;
	/** RFC 3339, if the line has one. */
	time?: string;
	level: "debug" | "info" | "warn" | "error" | "text";
	message: string;
	/** What else the line has, as JSON. */
	fields?: string;
}

export const emptyLog: LogTail = { lines: [], dropped: 0, rest: "", nextId: 0 };

/** A browser shows so many lines without an effort. */
const maxLines = 2_000;
const maxLineLength = 4_000;

/** The log with a piece of text more, which may end anywhere in a line. */
export function withText(log: LogTail, text: string): LogTail {
	const parts = (log.rest + text).split("\n");
	const rest = parts.pop()!;
	let { nextId } = log;
	const read = parts
		.filter((line) => line.trim() !== "")
		.map((line) => readLine(line, nextId++));
	const progress = parts.map(progressOf).findLast((one) => one !== undefined);
	const all = read.length > 0 ? [...log.lines, ...read] : log.lines;
	const surplus = Math.max(0, all.length - maxLines);
	return {
		lines: surplus > 0 ? all.slice(surplus) : all,
		dropped: log.dropped + surplus,
		rest,
		nextId,
		...((progress ?? log.progress) && { progress: progress ?? log.progress! }),
	};
}

/** As the API reads it from the log. */
function progressOf(line: string): RunCounts | undefined {
	if (!line.includes('"daysDone"')) return undefined;
	const { daysDone, daysTotal, rowsDone, rowsTotal } = parsed(line) ?? {};
	const progress = { daysDone, daysTotal, rowsDone, rowsTotal };
	return Object.values(progress).every(Number.isInteger)
		? (progress as RunCounts)
		: undefined;
}

/** The log at its end: a last line may lack its line end. */
export function endedLog(log: LogTail): LogTail {
	return log.rest === "" ? log : withText(log, "\n");
}

/** Programs of Tidemill write a JSON object a line, as pino does; whatever else a Pod says is a text. */
export function readLine(line: string, id: number): LogLine {
	const text =
		line.length > maxLineLength ? `${line.slice(0, maxLineLength)}…` : line;
	const object = line.startsWith("{") ? parsed(line) : undefined;
	if (!object) return { id, level: "text", message: text };
	const { level, time, msg, ...fields } = object;
	for (const field of ["pid", "hostname", "name", "v"]) delete fields[field];
	const rest = Object.keys(fields).length > 0 ? JSON.stringify(fields) : "";
	return {
		id,
		level: levelOf(level),
		message: typeof msg === "string" ? msg.slice(0, maxLineLength) : "",
		...(timeOf(time) !== undefined && { time: timeOf(time)! }),
		...(rest !== "" && { fields: rest.slice(0, maxLineLength) }),
	};
}

function parsed(line: string): Record<string, unknown> | undefined {
	try {
		const value: unknown = JSON.parse(line);
		return typeof value === "object" && value !== null
			? { ...value }
			: undefined;
	} catch {
		return undefined;
	}
}

function levelOf(level: unknown): LogLine["level"] {
	if (typeof level === "string")
		return (
			(["debug", "info", "warn", "error"] as const).find(
				(one) => one === level,
			) ?? (level === "fatal" ? "error" : "info")
		);
	if (typeof level !== "number") return "info";
	return level >= 50
		? "error"
		: level >= 40
			? "warn"
			: level >= 30
				? "info"
				: "debug";
}

function timeOf(time: unknown): string | undefined {
	if (typeof time === "string") return time;
	return typeof time === "number" && Math.abs(time) < 8.64e15
		? new Date(time).toISOString()
		: undefined;
}
