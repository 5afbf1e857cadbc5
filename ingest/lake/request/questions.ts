import type {
	AdditionAnswer,
	BodyMatch,
	DeletionAnswer,
	DeletionRequest,
	ErasureAnswer,
	ErasureRequest,
	ReleaseRequest,
	ShareAnswer,
	ShareRequest,
} from "../../../packages/contracts/archive.ts";
import type {
	TailPosition,
	TailRenewal,
	TailRequest,
} from "../../../packages/contracts/event-tail.ts";
import type {
	CountsAnswer,
	CountsRequest,
} from "../../../packages/contracts/ledger.ts";
import type {
	HeldAdditions,
	LogAnswer,
	LogRequest,
	ManifestAnswer,
	ManifestRequest,
	ResultAnswer,
	ResultRequest,
} from "../../../packages/contracts/manifest.ts";
import {
	countsSubject,
	deletionSubject,
	erasureSubject,
	eventsSubject,
	exportSubject,
	importSubject,
	logSubject,
	manifestSubject,
	releaseSubject,
	resultSubject,
	retentionSubject,
	shareSubject,
	uploadSubject,
} from "../../../packages/contracts/nats.ts";
import {
	forever,
	type RetentionAnswer,
	type RetentionRequest,
	retainedDays,
} from "../../../packages/contracts/retention.ts";
import {
	type ContentMatch,
	type EventsAsked,
	type EventsRequest,
	eventStates,
	maxEventsAsked,
	maxSourcesAsked,
} from "../../../packages/contracts/stored-event.ts";
import {
	digestForm,
	type ExportAnswer,
	type ExportRequest,
	exportCursorForm,
	type ImportRequest,
	maxImportFiles,
	maxImportParts,
	maxUploadBytes,
	type UploadAnswer,
	type UploadRequest,
} from "../../../packages/contracts/transfer.ts";
import { accountForm } from "../../wire/frame.ts";
import {
	type Fields,
	flag,
	integer,
	list,
	object,
	oneOf,
	optional,
	type RequestSchema,
	requestOf,
	text,
} from "./schema.ts";

/** Of a Run or an Operation. */
const uid = text(/^[0-9A-Za-z-]{1,64}$/);
const date = text(/^\d{4}-\d\d-\d\d$/);
const time = text(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
const uuid = text(/^[0-9a-f-]{36}$/);
const digest = text(digestForm);
const account = text(accountForm);
const sourceKey = text(/^[0-9a-f]{32}$/);
const source = { account, sourceKey };

const bodyPointer = text(/^(\/[\s\S]{0,499})?$/);
const ofText: RequestSchema<BodyMatch> = object({
	bodyPointer,
	equals: text(/^[\s\S]{0,1000}$/),
});
const ofNumber: RequestSchema<BodyMatch> = object({
	bodyPointer,
	equalsNumber: text(/^[-+.\deE]{1,100}$/),
});

/** Of what people type. */
const value = text(/^[\s\S]{0,1000}$/);
const inBody: RequestSchema<ContentMatch> = object({ bodyPointer, value });
const inField: RequestSchema<ContentMatch> = object({
	field: text(/^[\s\S]{1,200}$/),
	value,
});

/** As the CRD bounds a filter's lists. */
const filterTexts = <T extends string>() =>
	optional(list(text<T>(/^[\s\S]{1,200}$/), 1_000));

/** The most of a Source's `spec.retentionDays`, as the CRD has it. */
const days = integer(retainedDays, 36_500);

/** More than the CRD's `status.shards` may have. */
const maxShardsAsked = 2_000;

/** A source that may have been in several shards. */
const wholeSource = {
	...source,
	shards: optional(list(integer(0, Infinity), maxShardsAsked)),
};

/** What archive may be asked. The fields of a request become parts of object keys, so each has a form. */
export interface Question<Request, Answer> {
	subject(shard: number): string;
	/** As {@link file://./schema.ts requestOf} makes it. */
	read(text: string): Request;
	/** Only its type: what is sent as JSON, or as its bytes. */
	answer?: Answer;
}

function asked<Request, Answer>(
	noun: string,
	subject: string | ((shard: number) => string),
	fields: Fields<Request>,
): Question<Request, Answer> {
	return {
		subject: typeof subject === "string" ? () => subject : subject,
		read: requestOf<Request>(noun, fields),
	};
}

export const questions = {
	manifest: asked<ManifestRequest, ManifestAnswer>(
		"manifest",
		manifestSubject,
		{
			run: uid,
			...wholeSource,
			askedAt: optional(time),
			extent: oneOf("Whole", "Rest", "Chosen"),
			start: optional(date),
			end: optional(date),
			linkSeconds: optional(integer(1, Infinity)),
			releases: optional(
				object<HeldAdditions>({
					earliest: date,
					since: time,
					run: optional(uid),
					reloads: optional(list(uid, 10)),
				}),
			),
			follows: optional(
				object<NonNullable<ManifestRequest["follows"]>>({
					run: uid,
					since: time,
				}),
			),
			renew: flag,
			report: flag,
			quarantine: flag,
			released: flag,
			totals: flag,
			imports: optional(list(digest, maxImportFiles)),
		},
	),
	result: asked<ResultRequest, ResultAnswer>("result", resultSubject, {
		run: uid,
		...source,
	}),
	log: asked<LogRequest, LogAnswer>("log", logSubject, {
		run: uid,
		account,
	}),
	counts: asked<CountsRequest, CountsAnswer>("counts", countsSubject, {
		...source,
		shards: list(integer(0, Infinity), maxShardsAsked),
	}),
	share: asked<ShareRequest, ShareAnswer>("share", shareSubject, {
		...source,
		from: optional(date),
	}),
	deletion: asked<DeletionRequest, DeletionAnswer>(
		"deletion",
		deletionSubject,
		wholeSource,
	),
	export: asked<ExportRequest, ExportAnswer>("export", exportSubject, {
		operation: uid,
		account,
		after: optional(text(exportCursorForm)),
	}),
	upload: asked<UploadRequest, UploadAnswer>("upload", uploadSubject, {
		account,
		files: list(
			object({ sha256: digest, bytes: integer(1, maxUploadBytes) }),
			maxImportFiles,
		),
	}),
	import: asked<ImportRequest, AdditionAnswer>("import", importSubject, {
		operation: uid,
		...source,
		parts: integer(0, maxImportParts),
	}),
	release: asked<ReleaseRequest, AdditionAnswer>("release", releaseSubject, {
		operation: uid,
		...wholeSource,
		start: date,
		end: date,
		filter: object<ReleaseRequest["filter"]>({
			types: filterTexts(),
			kinds: filterTexts(),
			eventIDs: filterTexts(),
		}),
	}),
	erasure: asked<ErasureRequest, ErasureAnswer>("erasure", erasureSubject, {
		operation: uid,
		...wholeSource,
		erasure: object<ErasureRequest["erasure"]>({
			mode: oneOf("RemoveRow", "BlankBody", "Count"),
			eventIDs: filterTexts(),
			match: optional((value) =>
				"equalsNumber" in Object(value) ? ofNumber(value) : ofText(value),
			),
		}),
		isLoaded: flag,
	}),
	retention: asked<RetentionRequest, RetentionAnswer>(
		"retention",
		retentionSubject,
		{
			...wholeSource,
			days: (value) => (value === forever ? forever : days(value)),
		},
	),
	events: asked<EventsRequest, object | Uint8Array>("events", eventsSubject, {
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
				glimpse: flag,
				match: optional((value) =>
					"field" in Object(value) ? inField(value) : inBody(value),
				),
				cursor: optional(text(/^[\w-]+$/)),
			}),
		),
		// Needed without a list.
		id: optional(uuid),
		body: flag,
		// The longest window of a sender's key is a week, as the CRD has it.
		keySeconds: optional(integer(0, 7 * 86_400)),
	}),
};

export type QuestionName = keyof typeof questions;

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
