import type { ManifestQuestion } from "../../contracts/manifest.ts";
import { ManifestFailure } from "./manifest-errors.ts";

/**
 * Reads a question. Its words become parts of object keys, so their form is checked.
 * Throws {@link ManifestFailure} QuestionInvalid, with what is wrong.
 */
export function readQuestion(text: string): ManifestQuestion {
	let question: Partial<Record<keyof ManifestQuestion, unknown>>;
	try {
		question = JSON.parse(text);
	} catch (error) {
		throw new ManifestFailure(
			"QuestionInvalid",
			"The manifest question is not JSON",
			{ cause: error },
		);
	}
	const field = (name: keyof ManifestQuestion, form: RegExp): string => {
		const value = question?.[name];
		if (typeof value !== "string" || !form.test(value))
			throw new ManifestFailure(
				"QuestionInvalid",
				`The manifest question's ${name} is ${JSON.stringify(value)}`,
			);
		return value;
	};
	const date = (name: "start" | "end") =>
		question?.[name] === undefined
			? {}
			: { [name]: field(name, /^\d{4}-\d\d-\d\d$/) };
	return {
		run: field("run", /^[0-9A-Za-z-]{1,64}$/),
		account: field("account", /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/),
		sourceKey: field("sourceKey", /^[0-9a-f]{32}$/),
		...date("start"),
		...date("end"),
		...(question.renew === true && { renew: true }),
	};
}
