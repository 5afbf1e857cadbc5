import type { IncomingMessage, ServerResponse } from "node:http";
// uuid: the field's RFC 9562 implementation.
import { parse } from "uuid";
import type { Tracing } from "../../packages/service/tracing.ts";
import {
	type EventHead,
	encodeEventHead,
	type FrameVersion,
	frameVersionOf,
} from "../wire/frame.ts";
import {
	type ContentKind,
	eventIdText,
	newEventId,
} from "../wire/frame-event.ts";
import { RequestAdmission } from "./admission/admission.ts";
import type { RequestLimits } from "./admission/limits.ts";
import { BodyParts } from "./body/body-parts.ts";
import {
	type AcceptedBody,
	type BodyOutcome,
	type NotifyHelp,
	SentBody,
} from "./body/sent-body.ts";
import type { KeyClaim, KeyClaims } from "./commit/claims.ts";
import type { PendingEvent } from "./commit/committer.ts";
import { EventTrace } from "./commit/event-trace.ts";
import type { OutgoingFrame, PublishOutcome } from "./commit/frame-builder.ts";
import type { ShardWriter } from "./commit/shard-writer.ts";
import type { ReceiveMetrics } from "./metrics.ts";
import type { PlanOutcome, TrackingPlans } from "./plan/tracking-plans.ts";
import {
	type AgainSource,
	againHead,
	repeatHeader,
} from "./request/again-source.ts";
import { corsHeaders } from "./request/cors.ts";
import {
	bodyTooLarge,
	type RequestRefusal,
	refusals,
} from "./request/refusal.ts";
import type { RefusedRequests } from "./request/refused-requests.ts";
import {
	type ChallengeAnswer,
	replyInOwnWords,
	replyRefused,
	replyStored,
} from "./request/reply.ts";
import { type AcceptedHead, validateHead } from "./request/request-head.ts";
import {
	findSource,
	type RouteTable,
	type ServedRoute,
} from "./request/route-table.ts";

const nothing: readonly Uint8Array[] = [];

/**
 * One webhook request. Its steps run once, from the top of this class to the bottom: find the Source and validate the head,
 * take a share of memory and wait for a turn, read the body, validate it ({@link SentBody}), have its Source's tracking plan validate
 * it, make the event, claim the sender's key, commit, answer. Each step goes on to the next, or answers and ends the request.
 */
export class WebhookRequest implements PendingEvent {
	encoded = nothing;
	bytes = 0;
	trace: EventTrace | undefined;
	readonly #receiver: ReceiverParts;
	readonly #request: IncomingMessage;
	readonly #response: ServerResponse;
	readonly #again: AgainSource | undefined;
	#expectsContinue = false;
	#route: ServedRoute | undefined;
	#head: AcceptedHead | undefined;
	#admission: RequestAdmission | undefined;
	/** Undefined unless the request is waiting or being read. */
	#body: BodyParts | undefined;
	#event: EventHead | undefined;
	#claim: KeyClaim | undefined;

	/** @param again the Source of a stored event that is sent again, which no URL and no credential leads to. */
	constructor(
		receiver: ReceiverParts,
		request: IncomingMessage,
		response: ServerResponse,
		again?: AgainSource,
	) {
		this.#receiver = receiver;
		this.#request = request;
		this.#response = response;
		this.#again = again;
	}

	/** @param expectsContinue the sender waits for `100 Continue` before it sends the body. */
	start(expectsContinue: boolean): void {
		this.#expectsContinue = expectsContinue;
		const { httpVersion, headers, url, method } = this.#request;
		const again = this.#again;
		if (!again && httpVersion === "1.1" && headers.host === undefined) {
			// RFC 9112 §3.2.
			this.#refuse(refusals.BadRequest);
			return;
		}
		const source = again ?? findSource(url!, this.#receiver.routes);
		if ("status" in source) {
			this.#refuse(source);
			return;
		}
		this.#route = source.route;
		const { cors } = source.route;
		if (cors)
			for (const [name, value] of corsHeaders(cors, headers))
				this.#response.setHeader(name, value);
		const head = again
			? againHead(again)
			: validateHead(source, method!, headers, Date.now());
		if ("code" in head) this.#refuse(head);
		else if ("contentType" in head) this.#answerChallenge(head);
		else this.#enter(head);
	}

	#enter(head: AcceptedHead): void {
		const { account, shard } = head.route;
		if (this.#receiver.shards[shard]?.hasRoomFor(account) === false) {
			this.#refuse(refusals.BacklogFull);
			return;
		}
		const admission = RequestAdmission.enter(
			head.route,
			this.#receiver.limits,
			this,
		);
		if (!admission) {
			this.#refuse(refusals.Overloaded);
			return;
		}
		this.#head = head;
		this.#admission = admission;
		this.#body = new BodyParts();
		// The connection broke before the end of the body. Later a closed connection doesn't take the event back.
		this.#request.on("close", () => this.#body && this.#leave());
		admission.awaitTurn();
	}

	giveUp(): void {
		this.#refuse(refusals.Overloaded);
	}

	tooSlow(): void {
		this.#refuse(refusals.RequestTimeout);
	}

	begin(): void {
		if (this.#expectsContinue) this.#response.writeContinue();
		this.#request.on("data", (chunk: Buffer) => this.#read(chunk));
		this.#request.on("end", () => this.#validateBody());
	}

	#read(chunk: Buffer): void {
		if (!this.#body) return;
		const admission = this.#admission!;
		if (!admission.take(chunk.length)) {
			this.#refuse(refusals.Overloaded);
			return;
		}
		this.#body.add(chunk);
		const { maxBodyBytes } = this.#head!;
		if (admission.bytes > maxBodyBytes)
			this.#refuse(bodyTooLarge(maxBodyBytes));
	}

	#validateBody(): void {
		if (!this.#body) return;
		const parts = this.#body.all;
		this.#body = undefined;
		const admission = this.#admission!;
		admission.endReading();
		const { headers } = this.#request;
		const receiver = this.#receiver;
		// For people, if the request is refused.
		if (!this.#head!.encoding) this.encoded = parts;
		new SentBody(
			this.#head!,
			headers,
			admission,
			receiver.limits,
			receiver,
			(outcome) => this.#accept(outcome),
		).validate(parts);
	}

	#accept(outcome: BodyOutcome): void {
		if ("code" in outcome) this.#refuse(outcome);
		else if ("contentType" in outcome) this.#answerChallenge(outcome);
		else if (!this.#receiver.shards[this.#route!.shard])
			this.#refuse(refusals.StorageUnavailable);
		else {
			this.encoded = outcome.text.parts;
			if (this.#route!.plan) this.#validateByPlan(outcome);
			else this.#makeEvent(outcome);
		}
	}

	#validateByPlan(body: AcceptedBody): void {
		const { bytes, waitingSinceMs } = this.#admission!;
		const event = {
			route: this.#route!,
			headers: this.#request.headers,
			parts: body.text.parts,
			bytes,
			waitingSinceMs,
		};
		this.#receiver.plans.validate(event, (outcome) => {
			if ("status" in outcome) this.#refuse(outcome);
			else this.#makeEvent(body, outcome);
		});
	}

	#makeEvent(
		{ text, key, formerKey }: AcceptedBody,
		planned?: PlanOutcome,
	): void {
		const kind = this.#again?.asked.kind ?? text.kind;
		const event = newEvent(this.#head!, kind, Date.now(), key, planned);
		if (key === undefined) this.#commit(event);
		else void this.#claimKey(key, event, formerKey);
	}

	async #claimKey(
		key: string,
		event: EventHead,
		formerKey: string | undefined,
	): Promise<void> {
		const { claims, metrics } = this.#receiver;
		const claim =
			(await claims?.claim(
				key,
				eventIdText(event.id),
				this.#route!,
				formerKey,
			)) ?? refusals.StorageUnavailable;
		if ("status" in claim) this.#refuse(claim);
		else if ("repeatOf" in claim) {
			this.#leave();
			metrics.answer("Repeat", this.#route);
			if (this.#again) this.#response.setHeader(repeatHeader, "true");
			replyStored(this.#response, claim.repeatOf, this.#route!.response);
		} else {
			this.#claim = claim;
			// An earlier request that wasn't stored passes on its id.
			this.#commit({ ...event, id: parse(claim.entry.event) });
		}
	}

	/** Hands the event to the committer. `encoded` holds its body. */
	#commit(event: EventHead): void {
		const bodyBytes = this.#admission!.bytes;
		const head = encodeEventHead(event, bodyBytes);
		this.#event = event;
		this.encoded = [head, ...this.encoded];
		this.bytes = head.length + bodyBytes;
		const { tracing } = this.#receiver;
		if (tracing) this.#beginTrace(tracing, event);
		this.#receiver.shards[this.#route!.shard]!.add(this);
	}

	#beginTrace(tracing: Tracing, { id }: EventHead): void {
		const { account, source } = this.#route!;
		this.trace = EventTrace.begin(tracing, {
			account,
			source,
			event: id,
			traceparent: this.#request.headers.traceparent,
			sinceMs: this.#admission!.waitingSinceMs,
		});
	}

	get waitingSinceMs(): number {
		return this.#admission!.waitingSinceMs;
	}

	get account(): string {
		return this.#route!.account;
	}

	get source(): string {
		return this.#route!.sourceKey;
	}

	get receivedAtMs(): number {
		return this.#event!.receivedAtMs;
	}

	get frameVersion(): FrameVersion {
		return frameVersionOf(this.#event!);
	}

	answerStored(): void {
		const { metrics } = this.#receiver;
		this.#admission!.leave();
		metrics.answer("OK", this.#route);
		metrics.event(this.#admission!.bytes);
		if (this.#response.destroyed) metrics.undelivered();
		else
			replyStored(
				this.#response,
				eventIdText(this.#event!.id),
				this.#route!.response,
			);
		this.trace?.answered(200);
	}

	answerUnavailable(): void {
		this.#admission!.leave();
		this.trace?.answered(refusals.StorageUnavailable.status);
		this.#reply(refusals.StorageUnavailable);
	}

	settle(outcome: PublishOutcome, frame?: OutgoingFrame): void {
		this.#drop();
		this.trace?.settled(outcome, frame);
		const claim = this.#claim;
		if (claim) this.#receiver.claims!.settle(claim, outcome, frame);
	}

	#answerChallenge(answer: ChallengeAnswer): void {
		this.#leave();
		this.#receiver.metrics.answer("Greeting", this.#route);
		replyInOwnWords(this.#response, answer);
	}

	#refuse(refusal: RequestRefusal): void {
		const body = this.#body?.all ?? this.encoded;
		this.#leave();
		this.#reply(refusal, body);
	}

	#reply(refusal: RequestRefusal, body = nothing): void {
		const { metrics, refused } = this.#receiver;
		metrics.answer(refusal.code, this.#route);
		const isEmpty = this.#route?.response?.emptyRefusals;
		replyRefused(this.#request, this.#response, refusal, isEmpty);
		// A request to an unknown URL is nobody's.
		if (this.#route) refused?.record(this.#route, this.#request, refusal, body);
	}

	/** Gives up the body and everything that the request holds. */
	#leave(): void {
		this.#body = undefined;
		if (!this.#admission) return;
		this.#drop();
		this.#admission.leave();
	}

	#drop(): void {
		this.#admission!.keep(0);
		this.encoded = nothing;
	}
}

/** What all webhook requests of this receiver share. */
export interface ReceiverParts extends NotifyHelp {
	routes: RouteTable;
	/** By shard number. */
	shards: readonly Pick<ShardWriter, "add" | "hasRoomFor">[];
	limits: RequestLimits;
	metrics: ReceiveMetrics;
	plans: Pick<TrackingPlans, "validate">;
	/** Undefined unless traces are on. */
	tracing?: Tracing | undefined;
	/** Undefined until NATS is reached. */
	claims?: Pick<KeyClaims, "claim" | "settle">;
	/** Undefined until NATS is reached. */
	refused?: Pick<RefusedRequests, "record">;
}

/**
 * Makes the event of an accepted request. One clock reading gives its id and its timestamp, so that its date never disagrees.
 *
 * @param kind of its body.
 * @param key digest of its idempotency key.
 * @param planned what its Source's plan says about it; undefined without a plan.
 */
function newEvent(
	{ route, headers }: AcceptedHead,
	kind: ContentKind,
	nowMs: number,
	key: string | undefined,
	planned?: PlanOutcome,
): EventHead {
	return {
		id: newEventId(nowMs),
		receivedAtMs: nowMs,
		sourceKey: route.sourceKey,
		account: route.account,
		kind,
		headers,
		violations: "",
		...planned,
		key,
	};
}
