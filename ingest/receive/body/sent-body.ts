import type { IncomingHttpHeaders } from "node:http";
import type {
	JWTAuthorization,
	PublicKeyAlgorithm,
	SignatureAuthorization,
} from "../../../packages/contracts/route.ts";
import type { RequestAdmission } from "../admission/admission.ts";
import type { RequestLimits } from "../admission/limits.ts";
import { doNow, type LongWork } from "../admission/long-work.ts";
import { decompress } from "../request/content-encoding.ts";
import type {
	PresentedSignature,
	SignatureInBody,
} from "../request/presented-signature.ts";
import { because, type RequestRefusal, refusals } from "../request/refusal.ts";
import type { ChallengeAnswer } from "../request/reply.ts";
import {
	type AcceptedHead,
	secretUnavailable,
} from "../request/request-head.ts";
import {
	mayBeSignedByPrivateKey,
	type SigningKey,
	signedByPrivateKey,
	signedBySecret,
	timely,
} from "../request/signature-check.ts";
import {
	missingSignature,
	untimelySignature,
	wrongSignature,
} from "../request/signature-fault.ts";
import {
	answerChallenge,
	confirmationOf,
	done,
	isLikeComputed,
} from "../request/url-challenge.ts";
import { type PresentedToken, tokenRefusal } from "../request/web-token.ts";
import { isJSON, isOneStep } from "../text/json.ts";
import type { AmazonSns } from "./amazon-sns.ts";
import { inOneBuffer, inOnePiece } from "./body-parts.ts";
import type { PublicKeysByURL } from "./public-keys-by-url.ts";
import { ReadableBody } from "./readable-body.ts";
import {
	type EventText,
	jsonText,
	validateSender,
	validateText,
} from "./request-body.ts";
import { type SenderKey, senderKey, signedTextKey } from "./sender-key.ts";
import { verifiedMessage } from "./sns-message.ts";

/** What is stored of an accepted body. */
export interface AcceptedBody extends SenderKey {
	/** The admission holds its bytes, and no more. */
	text: EventText;
}

/** What is asked of notify. Undefined until NATS is reached. */
export interface NotifyHelp {
	sns?: Pick<AmazonSns, "keyOf" | "confirm">;
	publicKeys?: Pick<PublicKeysByURL, "keysAt">;
}

export type BodyOutcome = AcceptedBody | ChallengeAnswer | RequestRefusal;

const nullText = Buffer.from("null");

/** A longer body is worked on in steps, beside what others send: 8 MiB would hold up every sender for a tenth of a second. */
const shortBytes = 64 * 1024;

/**
 * A body that has arrived whole. Its steps run once, from the top of this class to the bottom: check the signature,
 * decompress, validate the content, find the sender's key. Most end in the same turn of the event loop.
 */
export class SentBody {
	#head: AcceptedHead;
	readonly #headers: IncomingHttpHeaders;
	readonly #admission: RequestAdmission;
	readonly #limits: RequestLimits;
	readonly #help: NotifyHelp;
	readonly #onValidated: (outcome: BodyOutcome) => void;
	#signedKey: string | undefined;

	/** @param onValidated called once. */
	constructor(
		head: AcceptedHead,
		headers: IncomingHttpHeaders,
		admission: RequestAdmission,
		limits: RequestLimits,
		help: NotifyHelp,
		onValidated: (outcome: BodyOutcome) => void,
	) {
		this.#head = head;
		this.#headers = headers;
		this.#admission = admission;
		this.#limits = limits;
		this.#help = help;
		this.#onValidated = onValidated;
	}

	/** @param parts of the body as it was sent. */
	validate(parts: readonly Buffer[]): void {
		const { signature } = this.#head;
		if (!signature) this.#decode(parts);
		else if (signature === "SNS") void this.#verifyMessage(parts);
		else if ("token" in signature) void this.#verifyToken(signature, parts);
		else if ("read" in signature)
			this.#do(this.#readSignature(signature, parts));
		else this.#check(signature, parts);
	}

	/** Completes a signature by what stands in the body. */
	*#readSignature(
		inBody: SignatureInBody,
		parts: readonly Buffer[],
	): LongWork<void> {
		const { route } = this.#head;
		const { awaits } = route;
		const authorization = (awaits ??
			route.authorization) as SignatureAuthorization;
		const { toleranceSeconds } = authorization;
		const nowMs = Date.now();
		const sentBytes = this.#admission.bytes;
		const body = new ReadableBody(this.#head, parts, this.#take);
		const signature = yield* inBody.read(body);
		this.#admission.keep(sentBytes);
		if (body.isRefused) this.#onValidated(refusals.Overloaded);
		else if (!signature)
			this.#onValidated(missingSignature(authorization, this.#headers));
		else if (awaits) this.#onValidated(secretUnavailable(route));
		else {
			const current = timely(signature, toleranceSeconds, nowMs);
			if (current) this.#check(current, parts);
			else
				this.#onValidated(untimelySignature(signature, authorization, nowMs));
		}
	}

	#check(signature: PresentedSignature, parts: readonly Buffer[]): void {
		const keys = this.#head.route.signingKeys!;
		if (signature.keyAt) void this.#fetchKeys(signature, parts);
		else if (mayBeSignedByPrivateKey(signature, keys))
			void this.#verify(signature, parts, keys);
		else this.#do(this.#validateSender(signature, parts, undefined));
	}

	/** Gets the public keys, which are at a URL. */
	async #fetchKeys(
		signature: PresentedSignature,
		parts: readonly Buffer[],
	): Promise<void> {
		const { account } = this.#head.route;
		const algorithm = signature.texts[0]!.algorithm as PublicKeyAlgorithm;
		const keys = await this.#help.publicKeys?.keysAt(
			account,
			algorithm,
			signature.keyAt!,
		);
		if (!keys || typeof keys === "string")
			this.#onValidated(because(refusals.KeysUnavailable, keys ?? ""));
		else
			await this.#verify(
				signature,
				parts,
				keys.map((key) => ({ algorithm, key })),
			);
	}

	/** Checks a public-key signature, which needs a copy of the body. */
	async #verify(
		signature: PresentedSignature,
		parts: readonly Buffer[],
		keys: readonly SigningKey[],
	): Promise<void> {
		const { account } = this.#head.route;
		const sentBytes = this.#admission.bytes;
		if (!this.#take(sentBytes)) {
			this.#onValidated(refusals.Overloaded);
			return;
		}
		const signed = await this.#limits.threads.run(account, () =>
			signedByPrivateKey(signature, keys, parts),
		);
		this.#admission.keep(sentBytes);
		this.#do(this.#validateSender(signature, parts, signed, keys.length));
	}

	/** Checks a message of Amazon SNS, which needs two copies of the body. */
	async #verifyMessage(parts: readonly Buffer[]): Promise<void> {
		const { account, authorization } = this.#head.route;
		const sentBytes = this.#admission.bytes;
		if (!this.#take(2 * sentBytes)) {
			this.#onValidated(refusals.Overloaded);
			return;
		}
		const message = await verifiedMessage(
			Buffer.concat(parts),
			authorization as { topicARNs: string[] },
			account,
			this.#limits,
			this.#help.sns,
		);
		this.#admission.keep(sentBytes);
		const refusal =
			"status" in message ? message : validateSender(this.#head, true);
		if (refusal) this.#onValidated(refusal);
		else this.#decode(parts);
	}

	/** Checks a JSON Web Token, which says nothing of the body. */
	async #verifyToken(
		presented: PresentedToken,
		parts: readonly Buffer[],
	): Promise<void> {
		const { account, authorization } = this.#head.route;
		const refusal =
			(await tokenRefusal(
				presented,
				authorization as JWTAuthorization,
				async (algorithm, place) =>
					this.#help.publicKeys?.keysAt(account, algorithm, place),
				(work) => this.#limits.threads.run(account, work),
			)) ?? validateSender(this.#head, true);
		if (refusal) this.#onValidated(refusal);
		else this.#decode(parts);
	}

	*#validateSender(
		signature: PresentedSignature,
		parts: readonly Buffer[],
		verified: PresentedSignature | undefined,
		keys = this.#head.route.signingKeys!.length,
	): LongWork<void> {
		const { route } = this.#head;
		const signed =
			(yield* signedBySecret(signature, route.signingKeys!, parts)) ?? verified;
		const refusal = signed
			? validateSender(this.#head, true)
			: wrongSignature(
					signature,
					route.authorization as SignatureAuthorization,
					keys,
				);
		if (!signed || refusal) {
			this.#onValidated(refusal!);
			return;
		}
		this.#signedKey = yield* signedTextKey(route, signed, parts);
		this.#decode(parts);
	}

	#decode(parts: readonly Buffer[]): void {
		if (this.#head.encoding) void this.#decompress(parts);
		else this.#validateContent(inOnePiece(parts), parts);
	}

	async #decompress(parts: readonly Buffer[]): Promise<void> {
		const { encoding, maxBodyBytes, route } = this.#head;
		if (isLikeComputed(route, parts)) {
			this.#onValidated(refusals.BodyLikeChallenge);
			return;
		}
		const sent = inOneBuffer(parts, this.#take);
		if ("status" in sent) {
			this.#onValidated(sent);
			return;
		}
		const content = await this.#limits.threads.run(route.account, () =>
			decompress(encoding!, sent, maxBodyBytes, this.#take),
		);
		if ("status" in content) this.#onValidated(content);
		else this.#validateContent(inOnePiece(content), content);
	}

	/** @param parts the content again, in buffers that may be kept. */
	#validateContent(content: Buffer, parts: readonly Buffer[]): void {
		const { route, kind } = this.#head;
		const outcome = route.verification && this.#answerChallenge(content);
		if (outcome === "Confirms") return;
		if (!outcome && content.length === 0 && route.emptyBody) {
			this.#validateEmpty();
			return;
		}
		const refusal = outcome ?? validateText(kind, content);
		if (refusal) this.#onValidated(refusal);
		else if (this.#isPlain(parts)) this.#readPlain(content, parts);
		else this.#do(this.#readText(parts));
	}

	/** The sender says all in headers, and its Source stores `null`. */
	#validateEmpty(): void {
		this.#head = { ...this.#head, kind: "json" };
		if (this.#take(nullText.length)) this.#do(this.#readText([nullText]));
		else this.#onValidated(refusals.Overloaded);
	}

	/** What a body means by which its sender checks the URL; undefined for an event. */
	#answerChallenge(
		body: Buffer,
	): ChallengeAnswer | RequestRefusal | "Confirms" | undefined {
		const { route, query } = this.#head;
		const headers = this.#headers;
		const url = confirmationOf(route.verification, headers, body);
		if (url !== undefined) {
			void this.#confirm(url);
			return "Confirms";
		}
		return (
			answerChallenge(route, { method: "POST", headers, query, body }) ??
			(isLikeComputed(route, [body]) ? refusals.BodyLikeChallenge : undefined)
		);
	}

	/** Whether it is what most senders send: a short JSON text, without an idempotency key. */
	#isPlain(parts: readonly Buffer[]): boolean {
		const { route, kind } = this.#head;
		return kind === "json" && isOneStep(parts) && !route.idempotency;
	}

	/** As {@link SentBody.#readText}, without a generator for each part of the work. */
	#readPlain(content: Buffer, parts: readonly Buffer[]): void {
		if (!isJSON(content)) {
			this.#do(this.#readText(parts));
			return;
		}
		this.#admission.keep(content.length);
		this.#onValidated({ text: { kind: "json", parts }, key: undefined });
	}

	/** Confirms a subscription of Amazon SNS, as its owner would by opening the URL. */
	async #confirm(url: string): Promise<void> {
		const isConfirmed = await this.#help.sns?.confirm(
			this.#head.route.account,
			url,
		);
		this.#onValidated(isConfirmed ? done : refusals.ConfirmationFailed);
	}

	*#readText(parts: readonly Buffer[]): LongWork<void> {
		const { route, kind, form, query } = this.#head;
		const text = yield* jsonText(kind, parts, this.#take, form);
		if ("status" in text) {
			this.#onValidated(text);
			return;
		}
		const key = this.#signedKey
			? { key: this.#signedKey }
			: yield* senderKey(
					route,
					{ headers: this.#headers, query },
					text.parts,
					this.#take,
				);
		if ("status" in key) {
			this.#onValidated(key);
			return;
		}
		// The stored text can be shorter or longer than the body that was sent.
		this.#admission.keep(
			text.parts.reduce((sum, { length }) => sum + length, 0),
		);
		this.#onValidated({ text, ...key });
	}

	/** Takes bytes of receive's memory; false when there is no room. */
	get #take(): (bytes: number) => boolean {
		return (bytes) => this.#admission.take(bytes);
	}

	/** Does the steps now for a short body, beside what others send for a long one. */
	#do(steps: LongWork<void>): void {
		if (this.#admission.bytes <= shortBytes) doNow(steps);
		else void this.#limits.longWork.run(this.#head.route.account, steps);
	}
}
