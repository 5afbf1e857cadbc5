import {
	type BodyValueType,
	type ColumnRoom,
	type FoundColumnType,
	foundColumnBytes,
	type LoadInput,
	maxPointerLength,
	type ValueLimits,
} from "../../packages/contracts/job.ts";
import { parquetRows } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import { pointerToken } from "../../packages/json/json-pointer.ts";
import {
	decoded,
	JsonReader,
	NotJson,
	openBrace,
} from "../../packages/json/json-reader.ts";
import {
	columnValue,
	emptyText,
	type Path,
	pathsOf,
} from "../../packages/warehouses/load/body-value.ts";
import { bodyColumnsOf } from "../../packages/warehouses/load/columns.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import type { LoadDay } from "../../packages/warehouses/load/load-day.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";

/** Members of deeper objects have no columns of their own. */
const maxDepth = 5;
/** Of different members at a time, since senders choose their names. Columns for some make room for others. */
const maxMembers = 5_000;
/** As JSON, of what a result names: it has {@link file://../../packages/contracts/job.ts maxResultBytes}. */
const maxNamedBytes = 2_500;

/** What the values of a member have in common. */
interface Member {
	rows: number;
	type: FoundColumnType | undefined;
}

/** Members of bodies that no column has, in the days that a load is about to put into a table. */
export class FoundColumns {
	readonly #root: Path;
	readonly #room: ColumnRoom;
	readonly #limits: ValueLimits;
	readonly #members = new Map<string, Member>();

	constructor(
		{ table, destination }: Pick<LoadInput, "table" | "destination">,
		room: ColumnRoom,
	) {
		const columns = bodyColumnsOf(table.columns).map(({ from }) => from);
		this.#root = pathsOf(columns).root;
		this.#room = room;
		this.#limits = warehouses.get(destination.type)?.limits ?? {};
	}

	/** @param days on disk. */
	async read(days: readonly LoadDay[], session: Session): Promise<void> {
		const objects = days.flatMap(({ objects }) => objects);
		if (objects.length === 0) return;
		session.define("tidemill_found_members", (body, kind) => {
			this.add(body, kind);
			return "";
		});
		const rows = parquetRows(objects.map(({ file }) => file));
		await session.run(
			`SELECT count(tidemill_found_members(body, coalesce(kind, ''))) FROM ${rows}`,
		);
	}

	/** Throws {@link JobFailure} ColumnsFound if some of the members may get a column: those that most events have first. */
	requireNone(): void {
		const columns: Record<string, FoundColumnType> = {};
		const taken = new Set<string>();
		let { columns: free, bytes } = this.#room;
		const members = [...this.#members].sort(
			([one, { rows }], [other, { rows: more }]) =>
				more - rows || (one < other ? -1 : 1),
		);
		for (const [bodyPointer, { type }] of members) {
			if (free === 0) break;
			// A value and members of it at one place: what most events have gets columns.
			const outer = outerOf(bodyPointer);
			if (!type || taken.has(bodyPointer)) continue;
			if (outer.some((pointer) => columns[pointer])) continue;
			const all = { ...columns, [bodyPointer]: type };
			if (!fitsResult(all)) break;
			const needed = foundColumnBytes({ bodyPointer, type });
			if (needed > bytes) continue;
			columns[bodyPointer] = type;
			for (const pointer of outer) taken.add(pointer);
			bytes -= needed;
			free--;
		}
		const [first] = Object.keys(columns);
		if (first === undefined) return;
		throw columnsFound(
			columns,
			`There are members of bodies without a column: ${Object.keys(columns).length}, such as ${first}`,
		);
	}

	/** @param kind as the body is stored: an empty field of a form is a missing one, and says nothing of its column. */
	add(body: string, kind = "json"): void {
		try {
			new MemberReader(body, (pointer, json) => {
				if (kind !== "form" || json !== emptyText) this.#count(pointer, json);
			}).read(this.#root);
		} catch (error) {
			if (!(error instanceof NotJson)) throw error;
		}
	}

	#count(pointer: string, json: string): void {
		const type = typeOf(json, this.#limits);
		const member = this.#members.get(pointer);
		if (member) {
			member.rows++;
			member.type = commonType(member.type, type);
		} else if (this.#members.size < maxMembers)
			this.#members.set(pointer, { rows: 1, type });
	}
}

/** Throws {@link JobFailure} ColumnsFound if the table has other types for columns that load has found; the next Jobs tell the rest. */
export function requireTypes(retyped: Record<string, FoundColumnType>): void {
	const columns: Record<string, FoundColumnType> = {};
	for (const [bodyPointer, type] of Object.entries(retyped)) {
		if (!fitsResult({ ...columns, [bodyPointer]: type })) break;
		columns[bodyPointer] = type;
	}
	const [first] = Object.keys(columns);
	if (first === undefined) return;
	throw columnsFound(
		columns,
		`The table has columns of other types than the events said for members of bodies: ${Object.keys(columns).length}, such as ${columns[first]} for ${first}`,
	);
}

function fitsResult(columns: Record<string, FoundColumnType>): boolean {
	return Buffer.byteLength(JSON.stringify(columns)) <= maxNamedBytes;
}

function columnsFound(
	columns: Record<string, FoundColumnType>,
	what: string,
): JobFailure {
	const failure = new JobFailure("ColumnsFound", what);
	failure.columns = columns;
	return failure;
}

/** Finds the values in a body that columns may be made of. */
class MemberReader extends JsonReader {
	readonly #found: (pointer: string, json: string) => void;

	constructor(body: string, found: (pointer: string, json: string) => void) {
		super(body);
		this.#found = found;
	}

	/** @param path of what columns have there already. */
	read(path: Path | undefined, pointer = "", depth = 0): void {
		if (this.next() === openBrace)
			this.members((written) => {
				const name = decoded(written);
				const inner = `${pointer}/${pointerToken(name)}`;
				const part = path?.parts.get(name);
				const mayBeNamed =
					inner.length <= maxPointerLength && !/[\p{Cc}\p{Cs}]/u.test(name);
				if (part?.columns.length || !mayBeNamed) this.passValue();
				else this.#value(part, inner, depth + 1);
			});
		else this.passValue();
	}

	#value(path: Path | undefined, pointer: string, depth: number): void {
		if (this.next() === openBrace && depth < maxDepth) {
			this.read(path, pointer, depth);
			return;
		}
		const text = this.text();
		// Where columns have members of it, this is a value of another kind.
		if (!path && text !== "null" && !/^\{\s*\}$/.test(text))
			this.#found(pointer, text);
	}
}

/** The type of a column that has the value; undefined if the warehouse has none that takes any such value. */
function typeOf(
	json: string,
	limits: ValueLimits,
): FoundColumnType | undefined {
	const fits = (type: FoundColumnType) =>
		columnValue(json, { type, limits } as BodyValueType)?.startsWith("=");
	switch (json[0]) {
		case "{":
		case "[":
			return limits.objectDepth === undefined ? "JSON" : undefined;
		case '"':
			return fits("Timestamp") ? "Timestamp" : fits("Date") ? "Date" : "String";
		case "t":
		case "f":
			return "Boolean";
	}
	// Beyond its range, a text keeps a number as it is written.
	const type = /^-?\d+$/.test(json) ? "Integer" : "Number";
	return fits(type) ? type : "String";
}

/** A type that takes values of both, whichever comes first. */
function commonType(
	one: FoundColumnType | undefined,
	other: FoundColumnType | undefined,
): FoundColumnType | undefined {
	if (one === other || other === undefined) return one;
	if (one === undefined) return other;
	const types = [one, other];
	if (types.includes("JSON")) return "JSON";
	const areNumbers = types.every((type) =>
		["Integer", "Number"].includes(type),
	);
	return areNumbers ? "Number" : "String";
}

/** The pointers to the objects that a pointer's value is in. */
function outerOf(pointer: string): string[] {
	const found: string[] = [];
	for (let at = pointer.indexOf("/", 1); at > 0; ) {
		found.push(pointer.slice(0, at));
		at = pointer.indexOf("/", at + 1);
	}
	return found;
}
