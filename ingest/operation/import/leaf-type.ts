import { isUtf8 } from "node:buffer";
import type { DuckDBBlobValue } from "@duckdb/node-api";
import type { SchemaElement, TimeUnit } from "hyparquet";
import { isJson } from "./event-of-row.ts";
import {
	dateText,
	durationText,
	floorDiv,
	int96Nanoseconds,
	timeOfDayText,
	timestampText,
} from "./parquet-times.ts";

/** A value that JSON can't say exactly: its row is invalid. */
export class InexactValue extends Error {
	override name = "InexactValue";
	/** What follows the name of where it is. */
	readonly fault: string;
	/** Names from the column to the value, the outermost first. */
	readonly path: readonly string[];

	constructor(fault: string, path: readonly string[] = []) {
		super(`${path.join(".")} ${fault}`);
		this.fault = fault;
		this.path = path;
	}
}

/** Of decimals. Writers have 76 digits at most. */
const maxScale = 1_000;

/** What the physical values of a type mean. None is given NULL. */
export interface ValueType {
	/** As Parquet calls it, for people. */
	name: string;
	/** JSON text of the exact value. Throws {@link InexactValue}. */
	json(value: unknown): string;
	/** Text as it stands there. Throws {@link InexactValue}. */
	text?(value: unknown): string;
	/** Whether texts are JSON texts. */
	isJson?: boolean;
	/** Milliseconds since the epoch, of a date or a time that says its date. Without a zone it is one of UTC. */
	ms?(value: unknown): number;
}

/** A type whose values have no exact form in JSON. */
export interface InexactType {
	name: string;
	json?: undefined;
}

/**
 * What the values of a column mean (github.com/apache/parquet-format, LogicalTypes.md).
 * @param timeZone of times without one, which otherwise stay without one.
 */
export function leafType(
	element: SchemaElement,
	timeZone: string | undefined,
): ValueType | InexactType {
	const { type: physical } = element;
	const { type, isUTC, unit, isUnsigned, scale } = annotationOf(element);
	const zone = isUTC ? "UTC" : timeZone;
	const perSecond = unitsPerSecond[unit];
	const isBytes = physical?.endsWith("BYTE_ARRAY");
	switch (type) {
		case "NULL":
			return { name: "NULL", json: () => "null" };
		case "STRING":
		case "ENUM":
		case "JSON":
			return isBytes ? textType(type) : { name: type };
		case "UUID":
			return {
				name: "UUID",
				json: (value) => quoted(uuidText(bytesOf(value))),
			};
		case "DECIMAL":
			// A file can claim a scale that no memory has room for.
			if (Math.abs(scale) > maxScale)
				return { name: `DECIMAL with the scale ${scale}` };
			return {
				name: "DECIMAL",
				json: (value) => decimalText(integerOf(value), scale),
			};
		case "INTEGER":
			return { name: "INTEGER", json: (value) => integer(value, isUnsigned) };
		case "FLOAT16":
			return {
				name: "FLOAT16",
				json: (value) => number(float16(bytesOf(value))),
			};
		case "DATE":
			return {
				name: "DATE",
				json: (value) => quoted(known(dateText(Number(value)), "date")),
				ms: (value) => Number(value) * 86_400_000,
			};
		case "TIME":
			return {
				name: "TIME",
				json: (value) =>
					quoted(
						known(timeOfDayText(big(value), perSecond, isUTC), "time of a day"),
					),
			};
		case "TIMESTAMP":
			return timestampType("TIMESTAMP", perSecond, zone, big);
		case "INTERVAL":
			return {
				name: "INTERVAL",
				json: (value) => quoted(durationText(bytesOf(value))),
			};
		case undefined:
			break;
		default:
			return { name: type };
	}
	switch (physical) {
		case "BOOLEAN":
			return { name: physical, json: String };
		case "INT32":
		case "INT64":
			return { name: physical, json: (value) => integer(value, false) };
		case "FLOAT":
		case "DOUBLE":
			return { name: physical, json: (value) => number(value as number) };
		case "INT96":
			// Writers disagree on whether it is a time of UTC, and the file doesn't say.
			return timestampType(physical, 1_000_000_000n, timeZone, (value) =>
				int96Nanoseconds(bytesOf(value)),
			);
		case "BYTE_ARRAY":
		case "FIXED_LEN_BYTE_ARRAY":
			return textType(physical);
		default:
			return { name: physical ?? "none" };
	}
}

interface Annotation {
	type: string | undefined;
	isUTC: boolean;
	unit: TimeUnit;
	isUnsigned: boolean;
	scale: number;
}

/** The older annotation counts where the newer one is missing: its times are of UTC. */
function annotationOf({
	logical_type: logical,
	converted_type: converted,
	scale = 0,
}: SchemaElement): Annotation {
	const plain: Annotation = {
		type: logical && (logical.type ?? "unknown to this version"),
		isUTC: true,
		unit: "MILLIS",
		isUnsigned: false,
		scale,
	};
	if (logical?.type === "TIME" || logical?.type === "TIMESTAMP")
		return { ...plain, isUTC: logical.isAdjustedToUTC, unit: logical.unit };
	if (logical?.type === "INTEGER")
		return { ...plain, isUnsigned: !logical.isSigned };
	if (logical?.type === "DECIMAL") return { ...plain, scale: logical.scale };
	if (logical || !converted) return plain;
	const [, type, unit] = /^(TIME|TIMESTAMP)_(.+)$/.exec(converted) ?? [];
	if (type) return { ...plain, type, unit: unit as TimeUnit };
	if (/^U?INT_/.test(converted)) {
		const isUnsigned = converted.startsWith("U");
		return { ...plain, type: "INTEGER", isUnsigned };
	}
	return { ...plain, type: converted === "UTF8" ? "STRING" : converted };
}

const unitsPerSecond = {
	MILLIS: 1_000n,
	MICROS: 1_000_000n,
	NANOS: 1_000_000_000n,
};

function textType(name: string): ValueType {
	const text = (value: unknown) => textOf(bytesOf(value));
	if (name !== "JSON")
		return { name, text, json: (value) => quoted(text(value)) };
	const json = (value: unknown) => {
		const found = text(value);
		if (!isJson(found)) throw new InexactValue("is not JSON, as its type says");
		return found;
	};
	return { name, text, json, isJson: true };
}

function timestampType(
	name: string,
	perSecond: bigint,
	zone: string | undefined,
	unitsOf: (value: unknown) => bigint,
): ValueType {
	return {
		name,
		json: (value) => {
			const found = timestampText(unitsOf(value), perSecond, zone);
			if ("fault" in found) throw new InexactValue(found.fault);
			return quoted(found.text);
		},
		ms: (value) => Number(floorDiv(unitsOf(value) * 1_000n, perSecond)),
	};
}

const quoted = (text: string) => JSON.stringify(text);
const big = (value: unknown) => BigInt(value as number | bigint);

function bytesOf(value: unknown): Buffer {
	const { bytes } = value as DuckDBBlobValue;
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function known(text: string | undefined, what: string): string {
	if (text === undefined)
		throw new InexactValue(`is no ${what} that RFC 3339 can say`);
	return text;
}

function textOf(bytes: Buffer): string {
	if (!isUtf8(bytes)) throw new InexactValue("has bytes that are not UTF-8");
	return bytes.toString("utf8");
}

function uuidText(bytes: Buffer): string {
	return bytes
		.toString("hex")
		.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Of a number, or of bytes in two's complement, the highest first. */
function integerOf(value: unknown): bigint {
	if (typeof value === "number" || typeof value === "bigint")
		return BigInt(value);
	const bytes = bytesOf(value);
	if (bytes.length === 0) return 0n;
	return BigInt.asIntN(8 * bytes.length, BigInt(`0x${bytes.toString("hex")}`));
}

/** With as many digits behind the point as the type has. */
function decimalText(unscaled: bigint, scale: number): string {
	if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale));
	const sign = unscaled < 0n ? "-" : "";
	const digits = String(unscaled)
		.replace("-", "")
		.padStart(scale + 1, "0");
	return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function integer(value: unknown, isUnsigned: boolean): string {
	if (!isUnsigned) return String(value);
	return typeof value === "bigint"
		? String(BigInt.asUintN(64, value))
		: String((value as number) >>> 0);
}

/** A whole number keeps a point, so that it stays one of a type with fractions. */
function number(value: number): string {
	if (!Number.isFinite(value))
		throw new InexactValue(`is ${value}, which JSON has no number for`);
	const text = Object.is(value, -0) ? "-0" : String(value);
	return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

function float16(bytes: Buffer): number {
	const bits = bytes.readUInt16LE(0);
	const sign = bits >> 15 ? -1 : 1;
	const exponent = (bits >> 10) & 0x1f;
	const fraction = bits & 0x3ff;
	if (exponent === 0x1f) return fraction ? Number.NaN : sign * Infinity;
	return exponent === 0
		? sign * fraction * 2 ** -24
		: sign * (1_024 + fraction) * 2 ** (exponent - 25);
}
