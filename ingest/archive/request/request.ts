import type { DeletionRequest } from "../../../contracts/deletion.ts";
import type {
	Extent,
	ManifestRequest,
	ResultRequest,
} from "../../../contracts/manifest.ts";
import { accountForm } from "../../wire/frame.ts";
import { RequestFailure } from "./errors.ts";

// The fields of a request become parts of object keys, so their form is checked. Each function throws RequestFailure
// QuestionInvalid, which says what is wrong.

export function readManifestRequest(text: string): ManifestRequest {
	const request = parse("manifest", text);
	const date = (name: "start" | "end") =>
		request.has(name)
			? { [name]: request.field(name, /^\d{4}-\d\d-\d\d$/) }
			: {};
	return {
		run: runIn(request),
		...sourceIn(request),
		extent: request.field("extent", /^(Whole|Rest|Chosen)$/) as Extent,
		...date("start"),
		...date("end"),
		...(request.has("linkSeconds") && {
			linkSeconds: request.seconds("linkSeconds"),
		}),
		...(request.isTrue("renew") && { renew: true }),
		...(request.isTrue("report") && { report: true }),
		...(request.isTrue("quarantine") && { quarantine: true }),
	};
}

export function readResultRequest(text: string): ResultRequest {
	const request = parse("result", text);
	return { run: runIn(request), ...sourceIn(request) };
}

export function readDeletionRequest(text: string): DeletionRequest {
	return sourceIn(parse("deletion", text));
}

function runIn(request: Fields): string {
	return request.field("run", /^[0-9A-Za-z-]{1,64}$/);
}

function sourceIn(request: Fields) {
	return {
		account: request.field("account", accountForm),
		sourceKey: request.field("sourceKey", /^[0-9a-f]{32}$/),
	};
}

interface Fields {
	has(name: string): boolean;
	isTrue(name: string): boolean;
	field(name: string, form: RegExp): string;
	/** A positive whole number. */
	seconds(name: string): number;
}

function parse(noun: string, text: string): Fields {
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
		seconds: (name) => {
			const value = request?.[name];
			if (typeof value !== "number" || !Number.isInteger(value) || value < 1)
				throw invalid(name);
			return value;
		},
	};
}
