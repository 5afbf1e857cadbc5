import { createHash, createHmac } from "node:crypto";
import type { SourceWebhook } from "../../crds/generated/types.ts";
import { signingKeys } from "../../crds/signing-key.ts";
import { signingSecretFault } from "../../crds/signing-secret.ts";
import type { CustomSignature } from "../../packages/contracts/route.ts";
import {
	type DescribedScheme,
	describedSchemes,
} from "../../packages/contracts/signature-schemes.ts";
import { pointerParts } from "../../packages/json/json-pointer.ts";
import { parseExact } from "../../packages/json/json-reader.ts";
import { CommandError } from "../command/errors.ts";
import { requestOf, type StoredDelivery } from "./replay-request.ts";

/** What a handler is sent. */
export interface SignedDelivery {
	target: URL;
	headers: Headers;
	body: string;
}

/** Signs an event as its sender would now, for a handler at the URL. Throws {@link CommandError} if the event lacks what is signed. */
export type Signer = (event: StoredDelivery, target: URL) => SignedDelivery;

/**
 * Signs by a Source's scheme with a secret. Throws {@link CommandError} if nobody but the provider can sign by it, if there is no
 * signature, or if the secret can't be one.
 * @param nowMs Milliseconds since the epoch.
 */
export async function signerOf(
	{ authorization }: Pick<SourceWebhook, "authorization">,
	secret: string,
	nowMs: () => number = Date.now,
): Promise<Signer> {
	const { type, signature } = authorization;
	if (type === "AmazonSNS" || type === "JWT") throw needsPrivateKey(type);
	if (type !== "Signature" || !signature)
		throw new CommandError(
			`the source checks no signature (its authorization is ${type}), so there is nothing to sign. Leave the secret out`,
		);
	const { scheme } = signature;
	const custom = signature.custom as CustomSignature | undefined;
	if (custom && !custom.algorithm.startsWith("SHA"))
		throw needsPrivateKey(custom.algorithm);
	const fault = signingSecretFault(scheme, secret);
	if (fault) throw new CommandError(`the secret ${fault}`);
	const keys = signingKeys(scheme, secret, signature.custom?.secretEncoding);
	if (typeof keys === "string") throw new CommandError(`the secret ${keys}`);
	const [{ algorithm, bytes }] = keys as [(typeof keys)[0]];
	if (algorithm !== "HMAC") throw needsPrivateKey(algorithm);
	if (scheme === "Twilio") return twilioSigner(bytes);
	return describedSigner(
		custom ?? describedSchemes[scheme as DescribedScheme],
		bytes,
		nowMs,
	);
}

function needsPrivateKey(what: string): CommandError {
	return new CommandError(
		`the sender signs with a private key (${what}), which nobody else has, so no event can be signed anew. Leave the secret out: events are sent as they are stored`,
	);
}

async function describedSigner(
	custom: CustomSignature,
	key: Buffer,
	nowMs: () => number,
): Promise<Signer> {
	// What receive checks by is what this signs by. It is loaded only when somebody signs.
	const [{ SignedString }, { doNow }, { textAt }] = await Promise.all([
		import("../../ingest/receive/request/signed-string.ts"),
		import("../../ingest/receive/admission/long-work.ts"),
		import("../../ingest/receive/text/json-pointer.ts"),
	]);
	const template = new SignedString(custom.signedString);
	const { timestampHeader, timestampHeaderPart, timestampBodyPointer } = custom;
	return (event, target) => {
		const timestamp = timeIn(custom, nowMs());
		const headers = { ...event.headers };
		for (const [, name] of custom.signedString.matchAll(/\{header:([^{}]+)\}/g))
			headers[name!.toLowerCase()] ??= event.eventId;
		if (timestampHeader !== undefined && timestampHeader !== custom.header)
			headers[timestampHeader] = partOf(timestampHeaderPart, timestamp);
		const json =
			timestampBodyPointer === undefined
				? (event.body ?? "")
				: withText(event.body, timestampBodyPointer, timestamp);
		const sent = requestOf({ ...event, headers, body: json });
		const text = doNow(
			template.fill(
				{
					headers: Object.fromEntries(sent.headers),
					url: target.origin + target.pathname,
					query: target.search.slice(1) || undefined,
					timestamp,
				},
				{
					parts: [Buffer.from(sent.body)],
					textAt: (pointer) => textAt(pointer, Buffer.from(json)),
				},
			),
		);
		if ("missing" in text)
			throw new CommandError(
				`it can't be signed: it lacks ${text.missing}, which the signature covers`,
			);
		const hmac = createHmac(custom.algorithm.toLowerCase(), key);
		for (const [n, part] of text.parts.entries()) {
			if (n > 0) hmac.update(sent.body);
			hmac.update(part);
		}
		const digest = hmac.digest(custom.encoding === "Hex" ? "hex" : "base64");
		const signature = (custom.prefix ?? "") + digest;
		if (custom.bodyPointer !== undefined) {
			const body = withText(json, custom.bodyPointer, signature);
			return { target, ...requestOf({ ...event, headers, body }) };
		}
		const header = custom.header!;
		const isWithTime =
			timestampHeader === header && timestampHeaderPart !== undefined;
		const before = isWithTime
			? partOf(timestampHeaderPart, timestamp) +
				separatorIn(header, event.headers?.[header])
			: "";
		sent.headers.set(header, before + partOf(custom.headerPart, signature));
		return { target, ...sent };
	};
}

function partOf(name: string | undefined, value: string): string {
	return name === undefined ? value : `${name}=${value}`;
}

function timeIn(
	{ timestampFormat = "UnixSeconds" }: CustomSignature,
	nowMs: number,
): string {
	switch (timestampFormat) {
		case "UnixSeconds":
			return String(Math.floor(nowMs / 1_000));
		case "UnixMillis":
			return String(nowMs);
		case "RFC3339":
			return new Date(nowMs).toISOString();
	}
}

/** Between time and signature in one header: the one that came tells, if it is captured. Paddle's library wants a semicolon, and all others a comma. */
function separatorIn(header: string, came = ""): ";" | "," {
	return header === "paddle-signature" || came.includes(";") ? ";" : ",";
}

/** A JSON text with another text in one place. Throws {@link CommandError} if it has none there. */
function withText(json = "", pointer: string, text: string): string {
	const names = pointerParts(pointer);
	const last = names.pop()!;
	const body = parseExact(json);
	let place = body as Record<string, unknown> | undefined;
	for (const name of names)
		place = place?.[name] as Record<string, unknown> | undefined;
	if (place?.[last] === undefined)
		throw new CommandError(
			`it can't be signed: its body has nothing at ${pointer}`,
		);
	place[last] = typeof place[last] === "number" ? Number(text) : text;
	return JSON.stringify(body);
}

/** twilio.com/docs/usage/security, "Validating requests". */
async function twilioSigner(key: Buffer): Promise<Signer> {
	const [{ twilioDigest, twilioFields }, { doNow }] = await Promise.all([
		import("../../ingest/receive/request/signature-schemes.ts"),
		import("../../ingest/receive/admission/long-work.ts"),
	]);
	return (event, to) => {
		const target = new URL(to);
		const sent = requestOf(event);
		const body = Buffer.from(sent.body);
		const isForm = event.kind === "form";
		if (!isForm)
			target.searchParams.set(
				twilioDigest,
				createHash("sha256").update(body).digest("hex"),
			);
		const fields = isForm ? doNow(twilioFields([body])) : "";
		if (fields === undefined)
			throw new CommandError("it can't be signed: the form is too large");
		const signature = createHmac("sha1", key).update(target.href + fields);
		sent.headers.set("x-twilio-signature", signature.digest("base64"));
		return { target, ...sent };
	};
}
