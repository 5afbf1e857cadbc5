import type { FastifyReply, FastifyRequest } from "fastify";
import type {
	TailedEvent,
	TailPosition,
} from "../../packages/contracts/event-tail.ts";
import type {
	AddedLedger,
	CountsRequest,
	SourceLedger,
} from "../../packages/contracts/ledger.ts";
import type { LogRequest } from "../../packages/contracts/manifest.ts";
import type { KeptRefusal } from "../../packages/contracts/refused-request.ts";
import type {
	SendAgain,
	SendAgainAnswer,
} from "../../packages/contracts/sent-again.ts";
import type {
	EventAnswer,
	EventsAnswer,
	EventsRequest,
} from "../../packages/contracts/stored-event.ts";
import type {
	ExportAnswer,
	ExportRequest,
	UploadAnswer,
	UploadRequest,
} from "../../packages/contracts/transfer.ts";
import { rawNumberOf } from "../../packages/json/json-reader.ts";
import type { KubeClient } from "../../packages/kube/client/client.ts";
import type { Logger } from "../../packages/service/log.ts";

/** One endpoint of the API. The routes and the OpenAPI document both derive from these. */
export interface Endpoint {
	/** `operationId` in the OpenAPI document. */
	id: string;
	method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	/** In OpenAPI's notation: `/v1/runs/{name}`. */
	path: string;
	summary: string;
	/** The group in the OpenAPI document. */
	tag: string;
	handler: Handler;
	/** Names of the query parameters in the document's components. */
	query?: string[];
	/** Name of the body's schema in the document's components. */
	body?: { schema: string; isRequired: boolean };
	/** Successful answers by status, each with the name of its body's schema if it has a body. */
	answers: Record<number, { about: string; schema?: string }>;
	/** Content type of the answer. JSON if absent. */
	produces?: "text/plain" | "text/event-stream";
	/** Its requests count in the rate limit by themselves, and spend none of the other requests'. */
	hasOwnRate?: true;
	/** Error statuses of this endpoint beyond those that its method and its path say. */
	errors?: number[];
}

/** Requests that are counted apart from all others of the same caller. */
export interface RateClass {
	name: string;
	/** How many times the usual limit they have; once by default. */
	times?: number;
}

/** Performs an endpoint's work and returns the body of the answer. Throws errors that `requestErrorOf` knows. */
export type Handler = (
	request: ApiRequest,
	reply: FastifyReply,
) => Promise<unknown>;

/** A request whose parameters, query and body are what its {@link Endpoint} says. */
export type ApiRequest = FastifyRequest<{
	Params: Partial<Record<string, string>>;
	Querystring: Partial<Record<string, string>>;
	/** Empty if the request has no body. */
	Body: JsonObject;
}>;

declare module "fastify" {
	interface FastifyInstance {
		archive: ArchiveClient;
		receive: ReceiveClient;
		/** A client that acts with another token, such as one that was just made. */
		clientFor: (token: string) => KubeClient;
		/** The API's log. Fastify's own is silent. */
		apiLog: Logger;
	}
	interface FastifyContextConfig {
		/** What the requests of this route count as in the rate limit, beside all others. */
		rateClass?: RateClass;
	}
	interface FastifyRequest {
		/** Acts with the caller's token and nothing else. */
		client: KubeClient;
		/** The namespace that the request is about. */
		account: string;
		/** How long to wait until a resource shows what was done to it. */
		settleWithinMs: number;
		/** Set if the request has an `Idempotency-Key`. */
		idempotency: IdempotentRequest | undefined;
		/** A signal that fires when the client has disconnected or the server begins to stop. */
		whenGone: () => AbortSignal;
	}
}

/** What the API asks of archive, which has the stored events. */
export interface ArchiveClient {
	/** Asks for links to the files of an Export. Whoever asks has the right to the events' bodies. */
	askExport: (question: ExportRequest) => Promise<ExportAnswer>;
	/** Asks for links to upload files. Whoever asks has the right to create Operations. */
	askUploads: (question: UploadRequest) => Promise<UploadAnswer>;
	/** Asks for a log in the bucket; undefined if there is none. Whoever asks has read the Run with `client`. */
	askLog: (question: LogRequest) => Promise<string | undefined>;
	/**
	 * Reads the kept refused requests of a Source that was read with `client`: those that follow a place in the stream, oldest
	 * first. Throws if NATS doesn't answer.
	 */
	readRefused: (
		account: string,
		sourceKey: string,
		after?: number,
	) => Promise<KeptRefusal[]>;
	/** Asks what was counted of a Source that was read with `client`. Throws if archive doesn't answer. */
	readCounts: (question: CountsRequest) => Promise<{
		ledger: SourceLedger | undefined;
		released: AddedLedger | undefined;
	}>;
	/** Follows the events of a Source that was read with `client`, until the signal fires. */
	followArchive: (
		question: TailQuestion,
		listener: TailListener,
		signal: AbortSignal,
	) => Promise<void>;
	/**
	 * Asks the archive of a shard about stored events. Whoever asks has read the Source with `client`, and has been found to
	 * have the right to its events. Throws a 503 if archive is away.
	 */
	askEvents: (
		shard: number,
		question: EventsRequest,
	) => Promise<{
		answer: Extract<EventsAnswer | EventAnswer, { ok: true }>;
		/** Only if it was asked for. */
		body?: Buffer;
	}>;
}

/** What endpoints ask of receive. */
export interface ReceiveClient {
	/**
	 * Has receive take a stored event of a Source that was read with `client` once more. Whoever asks may read its bodies and change the
	 * Source. Throws a 503 if nobody answers.
	 */
	sendAgain: (
		question: SendAgain,
		body: Uint8Array,
	) => Promise<SendAgainAnswer>;
}

/** Options of every write with a caller's client. */
export const writeOptions = { fieldManager: "tidemill-api" };

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
	return (
		typeof value === "object" &&
		value !== null &&
		!Array.isArray(value) &&
		rawNumberOf(value) === undefined
	);
}

/** A request that takes effect once, however often it is sent. */
export interface IdempotentRequest {
	/** 64 hexadecimal digits unique to the request. The object that it creates is named and annotated with them. */
	digest: string;
	/** Name of the object that an earlier attempt created. */
	created?: string;
}

/** Whose new events are asked for. */
export interface TailQuestion {
	account: string;
	sourceKey: string;
	shard: number;
	withBody: boolean;
	after?: TailPosition | undefined;
}

/** What a tail learns of archive. */
export interface TailListener {
	/** @param stream that the events are in. */
	onEvents(events: TailedEvent[], stream: string): void;
	/** Events were left out: so many, or undefined if nobody knows how many. */
	onLeftOut(count: number | undefined): void;
	/** Archive shows events from now on, or doesn't, for a reason that is known or not. */
	onArchive(isThere: boolean, reason?: "TooManyTails"): void;
}
