import { isKeyURL } from "../../../packages/contracts/notify-question.ts";
import type {
	CustomSignature,
	PublicKeyPlace,
	SigningAlgorithm,
} from "../../../packages/contracts/route.ts";
import { doNow, type LongWork } from "../admission/long-work.ts";
import type {
	NamedKey,
	PresentedSignature,
	SignatureInBody,
} from "./presented-signature.ts";
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
	const { header, headerPart, bodyPointer, prefix = "", publicKey } = custom;
	const { headers } = head;
	const hash = algorithms[custom.algorithm];
	const algorithm = (hash ? "HMAC" : custom.algorithm) as SigningAlgorithm;
	const found =
		bodyPointer === undefined
			? textsIn(headers[header!], headerPart)
			: [yield* body!.textAt(bodyPointer)];
	const texts = found
		.filter((text) => text?.startsWith(prefix))
		.map((text) => ({ algorithm, text: text!.slice(prefix.length) }));
	if (texts.length === 0) return undefined;

	const timestamp = yield* timestampOf(custom, head, body);
	const signedAt =
		timestamp === undefined
			? undefined
			: secondsOf(timestamp, custom.timestampFormat);
	const isTimed =
		custom.timestampHeader !== undefined ||
		custom.timestampBodyPointer !== undefined;
	if (isTimed && signedAt === undefined) return undefined;
	const keyAt = publicKey && placeOf(publicKey, headers);
	if (publicKey && !keyAt) return undefined;
	const signed = yield* template.fill({ ...head, timestamp }, body);
	if ("missing" in signed) return undefined;
	return {
		texts,
		hash: hash ?? "sha256",
		encoding: custom.encoding === "Hex" ? "hex" : "base64",
		signed: signed.parts,
		...(signedAt !== undefined && { signedAt }),
		...(keyAt && { keyAt }),
	};
}

/** A header's text, or each of its parts with the name, as in `t=1,v1=a,v1=b` or `ts=1;h1=a`. */
function textsIn(
	header: string | string[] | undefined,
	part: string | undefined,
): string[] {
	if (typeof header !== "string") return [];
	if (part === undefined) return [header];
	return header
		.split(/[,;]/)
		.map((pair) => pair.trim())
		.filter((pair) => pair.startsWith(`${part}=`))
		.map((pair) => pair.slice(part.length + 1).replace(/^"(.*)"$/, "$1"));
}

function* timestampOf(
	{
		timestampHeader,
		timestampHeaderPart,
		timestampBodyPointer,
	}: CustomSignature,
	{ headers }: RequestHead,
	body: SignedBody | undefined,
): LongWork<string | undefined> {
	if (timestampBodyPointer !== undefined)
		return yield* body!.textAt(timestampBodyPointer);
	if (timestampHeader === undefined) return undefined;
	return textsIn(headers[timestampHeader], timestampHeaderPart)[0];
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
