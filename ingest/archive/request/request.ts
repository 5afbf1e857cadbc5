import type { DeletionQuestion } from "../../../contracts/deletion.ts";
import type { ManifestQuestion } from "../../../contracts/manifest.ts";
import { RequestFailure } from "./errors.ts";

// A question's words become parts of object keys, so their form is checked. Each reader throws RequestFailure
// QuestionInvalid, with what is wrong.

export function readManifestRequest(text: string): ManifestQuestion {
	const question = parse("manifest", text);
	const date = (name: "start" | "end") =>
		question.has(name)
			? { [name]: question.field(name, /^\d{4}-\d\d-\d\d$/) }
			: {};
	return {
		run: question.field("run", /^[0-9A-Za-z-]{1,64}$/),
		...sourceIn(question),
		...date("start"),
		...date("end"),
		...(question.isTrue("renew") && { renew: true }),
	};
}

export function readDeletionRequest(text: string): DeletionQuestion {
	return sourceIn(parse("deletion", text));
}

function sourceIn(question: Fields) {
	return {
		account: question.field("account", /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
		sourceKey: question.field("sourceKey", /^[0-9a-f]{32}$/),
	};
}

interface Fields {
	has(name: string): boolean;
	isTrue(name: string): boolean;
	field(name: string, form: RegExp): string;
}

function parse(noun: string, text: string): Fields {
	let question: Record<string, unknown> | null;
	try {
		question = JSON.parse(text);
	} catch (error) {
		throw new RequestFailure(
			"QuestionInvalid",
			`The ${noun} question is not JSON`,
			{ cause: error },
		);
	}
	return {
		has: (name) => question?.[name] !== undefined,
		isTrue: (name) => question?.[name] === true,
		field: (name, form) => {
			const value = question?.[name];
			if (typeof value !== "string" || !form.test(value))
				throw new RequestFailure(
					"QuestionInvalid",
					`The ${noun} question's ${name} is ${JSON.stringify(value)}`,
				);
			return value;
		},
	};
}
