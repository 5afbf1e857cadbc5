import type {
	DeletionRequest,
	Erasure,
	ErasureRequest,
	ReleaseRequest,
	ShareRequest,
} from "../../../packages/contracts/archive.ts";
import type {
	TailPosition,
	TailRenewal,
	TailRequest,
} from "../../../packages/contracts/event-tail.ts";
import type {
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
	type EventsAsked,
	type EventsRequest,
	eventStates,
	maxEventsAsked,
	maxSourcesAsked,
} from "../../../packages/contracts/stored-event.ts";
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
import {
	flag,
	integer,
	list,
	object,
	oneOf,
	optional,
	requestOf,
	text,
} from "./schema.ts";

// What archive may be asked. The fields of a request become parts of object keys, so each has a form.

/** Of a Run or an Operation. */
const uid = text(/^[0-9A-Za-z-]{1,64}$/);
const date = text(/^\d{4}-\d\d-\d\d$/);
const time = text(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
const uuid = text(/^[0-9a-f-]{36}$/);
const digest = text(digestForm);
const account = text(accountForm);
const sourceKey = text(/^[0-9a-f]{32}$/);
const source = { account, sourceKey };

export const readManifestRequest = requestOf<ManifestRequest>("manifest", {
	run: uid,
	...source,
	askedAt: optional(time),
	extent: oneOf("Whole", "Rest", "Chosen"),
	start: optional(date),
	end: optional(date),
	linkSeconds: optional(integer(1, Infinity)),
	releases: optional(
		object<NonNullable<ManifestRequest["releases"]>>({
			earliest: date,
			since: time,
			run: optional(uid),
			reloads: optional(list(uid, 10)),
		}),
	),
	follows: optional(
		object<NonNullable<ManifestRequest["follows"]>>({ run: uid, since: time }),
	),
	renew: flag,
	report: flag,
	quarantine: flag,
	released: flag,
	totals: flag,
	imports: optional(list(digest, maxImportFiles)),
});

export const readResultRequest = requestOf<ResultRequest>("result", {
	run: uid,
	...source,
});

export const readLogRequest = requestOf<LogRequest>("log", {
	run: uid,
	account,
});

export const readShareRequest = requestOf<ShareRequest>("share", {
	...source,
	from: optional(date),
});

export const readDeletionRequest = requestOf<DeletionRequest>(
	"deletion",
	source,
);

export const readExportRequest = requestOf<ExportRequest>("export", {
	operation: uid,
	account,
	after: optional(text(exportCursorForm)),
});

export const readUploadRequest = requestOf<UploadRequest>("upload", {
	account,
	files: list(
		object({ sha256: digest, bytes: integer(1, maxUploadBytes) }),
		maxImportFiles,
	),
});

export const readImportRequest = requestOf<ImportRequest>("import", {
	operation: uid,
	...source,
	parts: integer(0, maxImportParts),
});

/** As the CRD bounds a filter's lists. */
const filterTexts = <T extends string>() =>
	optional(list(text<T>(/^[\s\S]{1,200}$/), 1_000));

export const readReleaseRequest = requestOf<ReleaseRequest>("release", {
	operation: uid,
	...source,
	start: date,
	end: date,
	filter: object<ReleaseRequest["filter"]>({
		types: filterTexts(),
		kinds: filterTexts(),
		eventIDs: filterTexts(),
	}),
});

export const readErasureRequest = requestOf<ErasureRequest>("erasure", {
	operation: uid,
	...source,
	erasure: object<Erasure>({
		mode: oneOf("RemoveRow", "BlankBody"),
		eventIDs: filterTexts(),
		match: optional(
			object({
				bodyPointer: text(/^(\/[\s\S]{0,499})?$/),
				equals: text(/^[\s\S]{0,1000}$/),
			}),
		),
	}),
	isLoaded: flag,
});

/** The most of a Source's `spec.retentionDays`, as the CRD has it. */
const days = integer(retainedDays, 36_500);

export const readRetentionRequest = requestOf<RetentionRequest>("retention", {
	...source,
	days: (value) => (value === forever ? forever : days(value)),
});

export const readEventsRequest = requestOf<EventsRequest>("events", {
	account,
	sourceKeys: list(sourceKey, maxSourcesAsked),
	list: optional(
		object<EventsAsked>({
			limit: integer(1, maxEventsAsked),
			from: optional(time),
			to: optional(time),
			types: optional(list(text(/^[\s\S]{1,200}$/), 20)),
			state: optional(oneOf(...eventStates)),
			stored: flag,
			withoutImported: flag,
			cursor: optional(text(/^[\w-]+$/)),
		}),
	),
	// Needed without a list.
	id: optional(uuid),
	body: flag,
	// The longest window of a sender's key is a week, as the CRD has it.
	keySeconds: optional(integer(0, 7 * 86_400)),
});

export const readTailRequest = requestOf<TailRequest>("tail", {
	tail: uuid,
	...source,
	body: flag,
	after: optional(
		object<TailPosition>({
			stream: text(/^[\w-]{1,255}$/),
			sequence: integer(0, Number.MAX_SAFE_INTEGER),
			index: optional(integer(0, 1e9)),
		}),
	),
});

export const readTailRenewal = requestOf<TailRenewal>("tail renewal", {
	tail: uuid,
	end: flag,
});
