import type { DeletionRequest } from "../../../contracts/deletion.ts";
import type {
	Extent,
	LogRequest,
	ManifestRequest,
	ResultRequest,
} from "../../../contracts/manifest.ts";
import type { ReleaseRequest } from "../../../contracts/release.ts";
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
		...(request.has("releases") && { releases: releasesIn(request) }),
		...(request.isTrue("renew") && { renew: true }),
		...(request.isTrue("report") && { report: true }),
		...(request.isTrue("quarantine") && { quarantine: true }),
		...(request.isTrue("released") && { released: true }),
	};
}

export function readResultRequest(text: string): ResultRequest {
	const request = parse("result", text);
	return { run: runIn(request), ...sourceIn(request) };
}

export function readLogRequest(text: string): LogRequest {
	const request = parse("log", text);
	return {
		run: runIn(request),
		account: request.field("account", accountForm),
	};
}

/** Bounds of a filter's lists, as the CRD has them. */
const maxFilterTexts = 1_000;
const maxFilterTextLength = 200;

export function readReleaseRequest(text: string): ReleaseRequest {
	const request = parse("release", text);
	const filter = request.inside("filter");
	const texts = (name: string) =>
		filter.has(name)
			? { [name]: filter.texts(name, maxFilterTexts, maxFilterTextLength) }
			: {};
	return {
		operation: request.field("operation", /^[0-9A-Za-z-]{1,64}$/),
		...sourceIn(request),
		start: request.field("start", dateForm),
		end: request.field("end", dateForm),
		filter: { ...texts("types"), ...texts("kinds"), ...texts("eventIDs") },
	};
}

function releasesIn(request: Fields) {
	const releases = request.inside("releases");
	return {
		earliest: releases.field("earliest", dateForm),
		since: releases.field("since", /^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
	};
}

const dateForm = /^\d{4}-\d\d-\d\d$/;

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
	/** A list of texts that are not empty. */
	texts(name: string, most: number, longest: number): string[];
	/** An object. */
	inside(name: string): Fields;
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
		seconds: (name) => {
			const value = request?.[name];
			if (typeof value !== "number" || !Number.isInteger(value) || value < 1)
				throw invalid(name);
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
