import type { IncomingMessage, ServerResponse } from "node:http";
// uuid: the field's RFC 9562 implementation.
import { parse } from "uuid";
import type { Route } from "../../contracts/route.ts";
import { type EventHead, encodeEventHead } from "../wire/frame.ts";
import { BodyParts, inOnePiece } from "./accept/body-parts.ts";
import { storedBody } from "./accept/content.ts";
import { decompress } from "./accept/content-encoding.ts";
import { eventIdText, newEventId } from "./accept/event-id.ts";
import { senderKey } from "./accept/sender-key.ts";
import {
	type Admission,
	admit,
	findSource,
	refuseByBody,
} from "./admission/admission.ts";
import type { Budget, Share } from "./admission/budget.ts";
import type { Turnstile, Waiter } from "./admission/concurrency-limit.ts";
import type { Claim, Claims } from "./commit/claims.ts";
import type {
	Committer,
	OutgoingFrame,
	PendingEvent,
	PublishOutcome,
} from "./commit/committer.ts";
import type { ReceiveMetrics } from "./metrics.ts";
import { type Refusal, refusals } from "./refusal.ts";
import { replyGreeting, replyRefused, replyStored } from "./reply.ts";
import type { RouteTable, ServedRoute } from "./url/route-table.ts";
import { type Greeting, greetByBody } from "./url/url-challenge.ts";

/** Of an exchange that holds none any more. */
const noBody = new BodyParts();

/** What all exchanges share. */
export interface Intake {
	routes: RouteTable;
	/** By shard number. */
	committers: readonly Pick<Committer, "add">[];
	budget: Budget;
	turnstile: Turnstile;
	metrics: ReceiveMetrics;
	/** Undefined until NATS is there. */
	claims?: Pick<Claims, "claim" | "settle">;
}

/**
 * One request and its answer. It is answered once: refused by its head or its body, or handed to a committer, which
 * then settles it. It counts in the budget until it is answered, its bytes until the committer releases them.
 */
export class Exchange implements PendingEvent, Waiter {
	source = "";
	waitsSinceMs = 0;
	encoded: readonly Uint8Array[] = [];
	bytes = 0;

	readonly #intake: Intake;
	readonly #request: IncomingMessage;
	readonly #response: ServerResponse;
	#route: ServedRoute | undefined;
	#admission: Admission | undefined;
	#share: Share | undefined;
	#expectsContinue = false;
	#body = new BodyParts();
	#heldBytes = 0;
	#hasTurn = false;
	#waitedMs = 0;
	#eventId: Uint8Array | undefined;
	#claim: Claim | undefined;
	hasKey = false;

	constructor(
		intake: Intake,
		request: IncomingMessage,
		response: ServerResponse,
	) {
		this.#intake = intake;
		this.#request = request;
		this.#response = response;
	}

	/** Takes the request as far as its head goes. @param expectsContinue the sender waits for leave to send its body. */
	start(expectsContinue: boolean): void {
		const { routes, budget, turnstile } = this.#intake;
		const request = this.#request;
		if (request.httpVersion === "1.1" && request.headers.host === undefined) {
			// RFC 9112 §3.2.
			this.#reply(refusals.BadRequest);
			return;
		}
		const found = findSource(request.url!, routes);
		if ("status" in found) {
			this.#reply(found);
			return;
		}
		this.#route = found.route;
		const admission = admit(
			found,
			request.method!,
			request.headers,
			Date.now(),
		);
		if ("status" in admission) {
			this.#reply(admission);
			return;
		}
		if ("contentType" in admission) {
			this.#greet(admission);
			return;
		}
		const { sourceKey } = found.route;
		const share = budget.enter(sourceKey);
		if (!share) {
			this.#reply(refusals.Overloaded);
			return;
		}
		this.#admission = admission;
		this.#share = share;
		this.#expectsContinue = expectsContinue;
		this.source = sourceKey;
		this.waitsSinceMs = performance.now();
		// The connection broke before the body's end; afterwards nothing is left to do here.
		request.on("close", () => this.#admission && this.#leave());
		turnstile.enter(sourceKey, this);
	}

	begin(): void {
		this.#hasTurn = true;
		this.#waitedMs = performance.now() - this.waitsSinceMs;
		if (this.#expectsContinue) this.#response.writeContinue();
		this.#request.on("data", (chunk: Buffer) => this.#read(chunk));
		this.#request.on("end", () => this.#commit());
	}

	giveUp(): void {
		this.#refuse(refusals.Overloaded);
	}

	#read(chunk: Buffer): void {
		if (!this.#admission) return;
		if (!this.#share!.take(chunk.length)) {
			this.#refuse(refusals.Overloaded);
			return;
		}
		this.#heldBytes += chunk.length;
		this.#body.add(chunk);
		if (this.#heldBytes > this.#admission.maxBodyBytes)
			this.#refuse(refusals.BodyTooLarge);
	}

	#commit(): void {
		const admission = this.#admission;
		if (!admission) return;
		const sent = inOnePiece(this.#body.all);
		const refusal = refuseByBody(admission, sent);
		if (refusal) this.#refuse(refusal);
		else if (admission.encoding) void this.#decompress(admission);
		else this.#store(admission, sent, this.#body.all);
	}

	async #decompress(admission: Admission): Promise<void> {
		const sent = Buffer.concat(this.#body.all);
		const { encoding, maxBodyBytes } = admission;
		if (!this.#share!.take(maxBodyBytes)) {
			this.#refuse(refusals.Overloaded);
			return;
		}
		this.#heldBytes += maxBodyBytes;
		// The request is whole: its sender may close the connection without taking it back.
		this.#admission = undefined;
		const body = await decompress(encoding!, sent, maxBodyBytes);
		if ("status" in body) this.#refuse(body);
		else this.#store(admission, body, [body]);
	}

	/** @param content the body, decompressed. @param parts the same, to be kept. */
	#store(
		admission: Admission,
		content: Buffer,
		parts: readonly Uint8Array[],
	): void {
		const { route, kind, headers } = admission;
		const greeting = greetByBody(route, this.#request.headers, content);
		if (greeting) {
			this.#greet(greeting);
			return;
		}
		const body = this.#intake.committers[route.shard]
			? storedBody(kind, content)
			: refusals.StorageUnavailable;
		if ("status" in body) {
			this.#refuse(body);
			return;
		}
		// One reading of the clock: an event's id, timestamp and date never disagree.
		const receivedAtMs = Date.now();
		const event: EventHead = {
			id: newEventId(receivedAtMs),
			receivedAtMs,
			sourceKey: route.sourceKey,
			account: route.account,
			kind,
			headers,
			violations: "",
			key: senderKey(route, this.#request.headers, body),
		};
		this.encoded = body === content ? parts : [body];
		// What it waited for its turn counts: the sender is answered within a second of both.
		this.waitsSinceMs = performance.now() - this.#waitedMs;
		// What is kept has not the length of what was sent: a form becomes JSON, a compressed body was decompressed.
		this.#share!.give(this.#heldBytes - body.length);
		this.#heldBytes = body.length;
		this.#body = noBody;
		// The request is whole: its sender may close the connection without taking it back.
		this.#admission = undefined;
		if (event.key === undefined) this.#add(event, route);
		else void this.#storeOnce(event.key, event, route);
	}

	/** Stores the event unless it was stored before, under its idempotency key. */
	async #storeOnce(key: string, event: EventHead, route: Route): Promise<void> {
		const claim =
			(await this.#intake.claims?.claim(key, eventIdText(event.id), route)) ??
			refusals.StorageUnavailable;
		if ("status" in claim) this.#refuse(claim);
		else if ("repeatOf" in claim) {
			this.#leave();
			this.#intake.metrics.answer("Repeat", this.#route);
			replyStored(this.#response, claim.repeatOf);
		} else {
			this.#claim = claim;
			this.hasKey = true;
			// The id of a request that was sent before and not stored, if there is one.
			this.#add({ ...event, id: parse(claim.entry.event) }, route);
		}
	}

	/** Hands the event to the committer; `encoded` is its body. */
	#add(event: EventHead, { shard }: Route): void {
		const head = encodeEventHead(event, this.#heldBytes);
		this.#eventId = event.id;
		this.encoded = [head, ...this.encoded];
		this.bytes = head.length + this.#heldBytes;
		this.#intake.committers[shard]!.add(this);
	}

	answerStored(): void {
		this.#goOn();
		const { metrics } = this.#intake;
		metrics.answer("OK", this.#route);
		metrics.event(this.#heldBytes);
		if (this.#response.destroyed) metrics.undelivered();
		else replyStored(this.#response, eventIdText(this.#eventId!));
	}

	answerUnavailable(): void {
		this.#goOn();
		this.#reply(refusals.StorageUnavailable);
	}

	release(outcome: PublishOutcome, frame?: OutgoingFrame): void {
		this.#drop();
		const claim = this.#claim;
		if (claim) this.#intake.claims!.settle(claim, outcome, frame);
	}

	#drop(): void {
		this.#share?.give(this.#heldBytes);
		this.#heldBytes = 0;
		this.encoded = [];
	}

	#greet(greeting: Greeting): void {
		if (this.#share) this.#leave();
		this.#intake.metrics.answer("Greeting", this.#route);
		replyGreeting(this.#response, greeting);
	}

	#refuse(refusal: Refusal): void {
		this.#leave();
		this.#reply(refusal);
	}

	/** Gives up what was read. */
	#leave(): void {
		this.#admission = undefined;
		this.#body = noBody;
		this.#drop();
		this.#goOn();
	}

	/** The request is as good as answered: it makes room for the next. */
	#goOn(): void {
		this.#share?.leave();
		const { turnstile } = this.#intake;
		if (this.#hasTurn) turnstile.leave(this.source);
		else turnstile.withdraw(this.source, this);
	}

	#reply(refusal: Refusal): void {
		this.#intake.metrics.answer(refusal.code, this.#route);
		replyRefused(this.#request, this.#response, refusal);
	}
}
