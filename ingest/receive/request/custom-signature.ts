import { isKeyURL } from "../../../packages/contracts/notify-question.ts";
import type {
	CustomSignature,
	PublicKeyPlace,
	SigningAlgorithm,
} from "../../../packages/contracts/route.ts";
import { doNow, type LongWork } from "../admission/long-work.ts";
import {
	bothSets,
	type NamedKey,
	type PresentedSignature,
	type SignatureInBody,
	type SignedSet,
} from "./presented-signature.ts";
import {
	maxListLength,
	partIn,
	type SignatureSet,
	setsIn,
	textsIn,
} from "./signature-sets.ts";
import {
	type SignedBody,
	type SignedHead,
	SignedString,
} from "./signed-string.ts";

type RequestHead = Omit<SignedHead, "timestamp">;

/** Reads the signature of a Source's own scheme; undefined if the request carries none, or lacks what is signed. */
export function customSignature(
	custom: CustomSignature,
	head: RequestHead,
): PresentedSignature | SignatureInBody | undefined {
	const template = templateOf(custom);
	const readsBody =
		template.readsBody ||
		custom.bodyPointer !== undefined ||
		custom.timestampBodyPointer !== undefined;
	return readsBody
		? { read: (body) => read(custom, template, head, body) }
		: doNow(read(custom, template, head));
}

const templates = new WeakMap<CustomSignature, SignedString>();

/** The signed string of a route, taken apart once. Throws if a later operator wrote what this receive doesn't know. */
export function templateOf(custom: CustomSignature): SignedString {
	const known = templates.get(custom);
	if (known) return known;
	const { algorithm, timestampFormat = "UnixSeconds" } = custom;
	if (!(algorithm in algorithms) || !(timestampFormat in timestampFormats))
		throw new Error(
			`this receive doesn't know ${algorithm} or ${timestampFormat}: upgrade receive before operator`,
		);
	const template = new SignedString(custom.signedString);
	templates.set(custom, template);
	return template;
}

/** An HMAC's hash; undefined for a private key's signature. */
const algorithms: Record<
	CustomSignature["algorithm"],
	PresentedSignature["hash"] | undefined
> = {
	SHA1: "sha1",
	SHA256: "sha256",
	SHA512: "sha512",
	"ECDSA-P256": undefined,
	Ed25519: undefined,
	"RSA-SHA256": undefined,
};

function* read(
	custom: CustomSignature,
	template: SignedString,
	head: RequestHead,
	body?: SignedBody,
): LongWork<PresentedSignature | undefined> {
	const { publicKey } = custom;
	const { headers } = head;
	const hash = algorithms[custom.algorithm];
	const algorithm = (hash ? "HMAC" : custom.algorithm) as SigningAlgorithm;
	const found = yield* setsOf(custom, head, body);
	const keyAt = publicKey && placeOf(publicKey, headers);
	if (publicKey && !keyAt) return undefined;
	const sets: SignedSet[] = [];
	for (const { time: timestamp, texts } of found) {
		const signedAt =
			timestamp === undefined
				? undefined
				: secondsOf(timestamp, custom.timestampFormat);
		if (isTimed(custom) && signedAt === undefined) continue;
		const signed = yield* template.fill({ ...head, timestamp }, body);
		if ("missing" in signed) continue;
		sets.push({
			texts: texts.map((text) => ({ algorithm, text })),
			signed: signed.parts,
			...(signedAt !== undefined && { signedAt }),
		});
	}
	return bothSets(sets, {
		hash: hash ?? "sha256",
		encoding: custom.encoding === "Hex" ? "hex" : "base64",
		...(keyAt && { keyAt }),
	});
}

function isTimed({ timestampHeader, timestampBodyPointer }: CustomSignature) {
	return timestampHeader !== undefined || timestampBodyPointer !== undefined;
}

/** The signatures as they were sent, with the time that they sign. */
function* setsOf(
	custom: CustomSignature,
	head: RequestHead,
	body: SignedBody | undefined,
): LongWork<SignatureSet[]> {
	const { header, headerPart, bodyPointer, prefix } = custom;
	const { timestampHeader, timestampHeaderPart } = custom;
	const list =
		bodyPointer === undefined
			? head.headers[header!]
			: yield* body!.textAt(bodyPointer);
	// Whoever has the URL can write a body.
	if (typeof list !== "string" || list.length > maxListLength) return [];
	if (headerPart !== undefined && timestampHeaderPart !== undefined)
		if (timestampHeader === header)
			return setsIn(list, {
				name: headerPart,
				timeName: timestampHeaderPart,
				prefix,
			});
	const texts =
		headerPart === undefined
			? textsIn(list, prefix)
			: setsIn(list, { name: headerPart, prefix }).flatMap(
					({ texts }) => texts,
				);
	const time = yield* timestampOf(custom, head, body);
	return texts.length === 0 ? [] : [{ time, texts }];
}

function* timestampOf(
	{
		timestampHeader,
		timestampHeaderPart: name,
		timestampBodyPointer,
	}: CustomSignature,
	{ headers }: RequestHead,
	body: SignedBody | undefined,
): LongWork<string | undefined> {
	if (timestampBodyPointer !== undefined)
		return yield* body!.textAt(timestampBodyPointer);
	const time = timestampHeader && headers[timestampHeader];
	if (typeof time !== "string") return undefined;
	return name === undefined ? time : partIn(time, name);
}

/** A time in Unix seconds; undefined if it isn't in the format. */
function secondsOf(
	text: string,
	format: CustomSignature["timestampFormat"] = "UnixSeconds",
): number | undefined {
	const { pattern, read } = timestampFormats[format];
	const seconds = pattern.test(text) ? read(text) : Number.NaN;
	return Number.isNaN(seconds) ? undefined : seconds;
}

const timestampFormats: Record<
	NonNullable<CustomSignature["timestampFormat"]>,
	{ pattern: RegExp; read(text: string): number }
> = {
	UnixSeconds: { pattern: /^\d{1,12}$/, read: Number },
	UnixMillis: { pattern: /^\d{1,15}$/, read: (text) => Number(text) / 1_000 },
	RFC3339: {
		pattern:
			/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/,
		read: (text) => Date.parse(text.toUpperCase().replace(" ", "T")) / 1_000,
	},
};

/** Where the key is; undefined if the sender names no place, or one where no key may be. */
function placeOf(
	{ url, urlHeader, keyHosts = [], keyIdHeader }: PublicKeyPlace,
	headers: SignedHead["headers"],
): NamedKey | undefined {
	const id = keyIdHeader && headers[keyIdHeader];
	if (keyIdHeader && typeof id !== "string") return undefined;
	const key = { isSenders: url === undefined, id: id as string | undefined };
	if (url !== undefined) return { ...key, url };
	const named = headers[urlHeader!];
	if (typeof named !== "string" || !isKeyURL(named)) return undefined;
	return keyHosts.includes(new URL(named).host)
		? { ...key, url: named }
		: undefined;
}
