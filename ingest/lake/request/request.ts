import type {
	DeletionRequest,
	ReleaseRequest,
	ShareRequest,
} from "../../../packages/contracts/archive.ts";
import type {
	LoadExtent,
	LogRequest,
	ManifestRequest,
	ResultRequest,
} from "../../../packages/contracts/manifest.ts";
import {
	forever,
	type RetentionRequest,
	retainedDays,
} from "../../../packages/contracts/retention.ts";
import {
	digestForm,
	type ExportRequest,
	exportCursorForm,
	type ImportRequest,
	maxImportFiles,
	maxImportParts,
	maxUploadBytes,
	type UploadRequest,
} from "../../../packages/contracts/transfer.ts";
import { accountForm } from "../../wire/frame.ts";
import { type Fields, parse } from "./fields.ts";

// The fields of a request become parts of object keys, so their form is checked. Each function throws RequestFailure
// QuestionInvalid, which says what is wrong.

export function readManifestRequest(text: string): ManifestRequest {
	const request = parse("manifest", text);
	const date = (name: "start" | "end") =>
		request.has(name) ? { [name]: request.field(name, dateForm) } : {};
	return {
		run: runIn(request),
		...sourceIn(request),
		extent: request.field("extent", /^(Whole|Rest|Chosen)$/) as LoadExtent,
		...date("start"),
		...date("end"),
		...(request.has("linkSeconds") && {
			linkSeconds: request.number("linkSeconds", 1, Infinity),
		}),
		...(request.has("releases") && { releases: releasesIn(request) }),
		...(request.isTrue("renew") && { renew: true }),
		...(request.isTrue("report") && { report: true }),
		...(request.isTrue("quarantine") && { quarantine: true }),
		...(request.isTrue("released") && { released: true }),
		...(request.isTrue("totals") && { totals: true }),
		...(request.has("imports") && {
			imports: digestsIn(request),
		}),
	};
}

export function readShareRequest(text: string): ShareRequest {
	const request = parse("share", text);
	return {
		...sourceIn(request),
		...(request.has("from") && { from: request.field("from", dateForm) }),
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

export function readExportRequest(text: string): ExportRequest {
	const request = parse("export", text);
	return {
		operation: request.field("operation", uidForm),
		account: request.field("account", accountForm),
		...(request.has("after") && {
			after: request.field("after", exportCursorForm),
		}),
	};
}

function digestsIn(request: Fields): string[] {
	const digests = request.texts("imports", maxImportFiles, 64);
	if (!digests.every((digest) => digestForm.test(digest)))
		throw request.invalid("imports");
	return digests;
}

export function readUploadRequest(text: string): UploadRequest {
	const request = parse("upload", text);
	const account = request.field("account", accountForm);
	return {
		account,
		files: request.objects("files", maxImportFiles).map((file) => ({
			sha256: file.field("sha256", digestForm),
			bytes: file.number("bytes", 1, maxUploadBytes),
		})),
	};
}

export function readImportRequest(text: string): ImportRequest {
	const request = parse("import", text);
	return {
		operation: request.field("operation", uidForm),
		...sourceIn(request),
		parts: request.number("parts", 0, maxImportParts),
	};
}

/** Of a Source's `spec.retentionDays`, as the CRD has it. */
const mostRetentionDays = 36_500;

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
		operation: request.field("operation", uidForm),
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

/** Of a Run or an Operation. */
const uidForm = /^[0-9A-Za-z-]{1,64}$/;
const dateForm = /^\d{4}-\d\d-\d\d$/;

export function readDeletionRequest(text: string): DeletionRequest {
	return sourceIn(parse("deletion", text));
}

export function readRetentionRequest(text: string): RetentionRequest {
	const request = parse("retention", text);
	const days = request.number("days", forever, mostRetentionDays);
	if (days !== forever && days < retainedDays) throw request.invalid("days");
	return { ...sourceIn(request), days };
}

function runIn(request: Fields): string {
	return request.field("run", uidForm);
}

function sourceIn(request: Fields) {
	return {
		account: request.field("account", accountForm),
		sourceKey: request.field("sourceKey", /^[0-9a-f]{32}$/),
	};
}
