import { RequestFailure } from "./errors.ts";

/*
 * What a request may be, as a value that has the type of its contract. Not ajv: its import, sixteen schemas and the code that
 * they become cost archive 55 ms at its start and 16 MB; see docs/decisions/0029-a-request-to-archive-is-a-schema.md.
 */

/** Returns a value of a request as the contract has it. Throws {@link Misfit}. */
export type RequestSchema<T> = (value: unknown) => T;

/** A schema for each field. Those that may be absent have one of {@link optional}. */
export type Fields<T> = {
	[K in keyof T]-?: RequestSchema<
		object extends Pick<T, K> ? T[K] | undefined : T[K]
	>;
};

/** Where a value isn't what its schema says. */
class Misfit extends Error {
	readonly value: unknown;
	readonly path: string;

	constructor(value: unknown, path = "") {
		super();
		this.value = value;
		this.path = path;
	}

	/** @param name as in `.start` or `[0]`. */
	in(name: string): Misfit {
		return new Misfit(this.value, name + this.path);
	}
}

/**
 * Reads a request's JSON text. Throws {@link RequestFailure} QuestionInvalid, which names the field.
 * @param noun which request, for the error.
 */
export function requestOf<T>(
	noun: string,
	fields: Fields<T>,
): (text: string) => T {
	const schema = object(fields);
	return (text) => {
		let request: unknown;
		try {
			request = JSON.parse(text);
		} catch (cause) {
			const what = `The ${noun} request is not JSON`;
			throw new RequestFailure("QuestionInvalid", what, { cause });
		}
		try {
			return schema(request ?? {});
		} catch (error) {
			if (!(error instanceof Misfit)) throw error;
			const { path, value } = error;
			throw new RequestFailure(
				"QuestionInvalid",
				`The ${noun} request's ${path.slice(1) || "JSON"} is ${JSON.stringify(value)}`,
			);
		}
	};
}

/** Fields that the schema doesn't have are left out, since the other side may be newer. */
export function object<T>(fields: Fields<T>): RequestSchema<T> {
	const schemas = Object.entries<RequestSchema<unknown>>(fields);
	return (value) => {
		if (typeof value !== "object" || value === null) throw new Misfit(value);
		const known = new Map(Object.entries(value));
		const read = schemas.map(([name, schema]) => [
			name,
			within(`.${name}`, schema, known.get(name)),
		]);
		return Object.fromEntries(
			read.filter(([, each]) => each !== undefined),
		) as T;
	};
}

export function optional<T>(
	schema: RequestSchema<T>,
): RequestSchema<T | undefined> {
	return (value) => (value === undefined ? undefined : schema(value));
}

/** Anything but `true` is as if the field were absent. */
export const flag: RequestSchema<true | undefined> = (value) =>
	value === true ? value : undefined;

export function text<T extends string = string>(
	form: RegExp,
): RequestSchema<T> {
	return (value) => {
		if (typeof value === "string" && form.test(value)) return value as T;
		throw new Misfit(value);
	};
}

export function oneOf<T extends string>(
	...texts: readonly T[]
): RequestSchema<T> {
	return (value) => {
		const found = texts.find((each) => each === value);
		if (found === undefined) throw new Misfit(value);
		return found;
	};
}

/** A whole number of this range. */
export function integer(least: number, most: number): RequestSchema<number> {
	return (value) => {
		if (Number.isInteger(value) && +value! >= least && +value! <= most)
			return value as number;
		throw new Misfit(value);
	};
}

/** One to `most` of these. */
export function list<T>(
	schema: RequestSchema<T>,
	most: number,
): RequestSchema<T[]> {
	return (value) => {
		if (!Array.isArray(value) || value.length === 0 || value.length > most)
			throw new Misfit(value);
		return value.map((each, index) => within(`[${index}]`, schema, each));
	};
}

function within<T>(name: string, schema: RequestSchema<T>, value: unknown): T {
	try {
		return schema(value);
	} catch (error) {
		throw error instanceof Misfit ? error.in(name) : error;
	}
}
