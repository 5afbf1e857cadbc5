import { RequestFailure } from "./errors.ts";

/** The fields of a request. Each throws {@link RequestFailure} QuestionInvalid, which says what is wrong. */
export interface Fields {
	has(name: string): boolean;
	isTrue(name: string): boolean;
	field(name: string, form: RegExp): string;
	/** A whole number. */
	number(name: string, least: number, most: number): number;
	/** Says that the field is invalid. */
	invalid(name: string): RequestFailure;
	/** A list of texts that are not empty. */
	texts(name: string, most: number, longest: number): string[];
	/** An object. */
	inside(name: string): Fields;
	/** A list of objects. */
	objects(name: string, most: number): Fields[];
}

/** @param noun which request, for the error. */
export function parse(noun: string, text: string): Fields {
	let request: Record<string, unknown> | null;
	try {
		request = JSON.parse(text);
	} catch (error) {
		throw new RequestFailure(
			"QuestionInvalid",
			`The ${noun} request is not JSON`,
			{ cause: error },
		);
	}
	return fieldsOf(noun, request);
}

function fieldsOf(
	noun: string,
	request: Record<string, unknown> | null,
): Fields {
	const invalid = (name: string) =>
		new RequestFailure(
			"QuestionInvalid",
			`The ${noun} request's ${name} is ${JSON.stringify(request?.[name])}`,
		);
	return {
		has: (name) => request?.[name] !== undefined,
		isTrue: (name) => request?.[name] === true,
		field: (name, form) => {
			const value = request?.[name];
			if (typeof value !== "string" || !form.test(value)) throw invalid(name);
			return value;
		},
		invalid,
		number: (name, least, most) => {
			const value = request?.[name];
			const isRight = typeof value === "number" && Number.isInteger(value);
			if (!isRight || value < least || value > most) throw invalid(name);
			return value;
		},
		texts: (name, most, longest) => {
			const value = request?.[name];
			const isText = (text: unknown) =>
				typeof text === "string" && text !== "" && text.length <= longest;
			if (!Array.isArray(value) || value.length === 0 || value.length > most)
				throw invalid(name);
			if (!value.every(isText)) throw invalid(name);
			return value;
		},
		objects: (name, most) => {
			const value = request?.[name];
			if (!Array.isArray(value) || value.length === 0 || value.length > most)
				throw invalid(name);
			return value.map((each, index) =>
				fieldsOf(`${noun} request's ${name}[${index}]`, each),
			);
		},
		inside: (name) => {
			const value = request?.[name];
			if (typeof value !== "object" || value === null) throw invalid(name);
			return fieldsOf(
				`${noun} request's ${name}`,
				value as Record<string, unknown>,
			);
		},
	};
}
