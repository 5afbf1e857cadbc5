import type { KeyObject } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
// jose: JSON Web Tokens and their signatures (RFC 7515, RFC 7519), by Node's own crypto.
import {
	decodeProtectedHeader,
	errors,
	type JWTPayload,
	jwtVerify,
	type ProtectedHeaderParameters,
} from "jose";
import type {
	JWTAuthorization,
	PublicKeyAlgorithm,
} from "../../../packages/contracts/route.ts";
import type { NamedKey } from "./presented-signature.ts";
import { because, type RequestRefusal, refusals } from "./refusal.ts";

/** A JSON Web Token in a request's head, not checked yet. */
export interface PresentedToken {
	token: string;
	header: ProtectedHeaderParameters & { kid?: string };
	algorithm: PublicKeyAlgorithm;
}

/** More than any issuer makes. A request's head has at most 16 KiB. */
const maxTokenLength = 8 * 1024;

const algorithms: Record<string, PublicKeyAlgorithm> = {
	RS256: "RSA-SHA256",
	ES256: "ECDSA-P256",
};

/** By these a token could bring its own key, or ask for what isn't done (RFC 7515 §4.1). */
const forbidden = ["jku", "x5u", "jwk", "crit"];

/** Reads a request's token, and refuses one that no key is asked for. */
export function tokenIn(
	{ header: name }: Pick<JWTAuthorization, "header">,
	headers: IncomingHttpHeaders,
): PresentedToken | RequestRefusal {
	const value = headers[name];
	if (typeof value !== "string")
		return refused(`The header ${name} is missing. No key was tried.`);
	const token = value.replace(/^bearer +/i, "");
	const header = token.length <= maxTokenLength && headerOf(token);
	if (!header)
		return refused(
			`What is in the header ${name} can't be decoded as a JSON Web Token of at most 8 KiB.`,
		);
	const algorithm = algorithms[String(header.alg)];
	if (!algorithm) return refused("The token isn't signed by RS256 or ES256.");
	const brought = forbidden.find((parameter) => parameter in header);
	if (brought)
		return refused(`The token's header has ${brought}, which is never used.`);
	const { kid } = header;
	if (kid !== undefined && typeof kid !== "string")
		return refused("The token's kid is no text.");
	return { token, header, algorithm };
}

function headerOf(token: string): ProtectedHeaderParameters | undefined {
	try {
		return decodeProtectedHeader(token);
	} catch {
		return undefined;
	}
}

type KeysAt = (
	algorithm: PublicKeyAlgorithm,
	place: NamedKey,
) => Promise<KeyObject[] | string | undefined>;

/** Does work that takes a thread, when it is the account's turn. */
type InThread = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Why a token isn't accepted; undefined if it is. @param keysAt the keys at a URL, or why they can't be had now. */
export async function tokenRefusal(
	{ token, header, algorithm }: PresentedToken,
	authorization: JWTAuthorization,
	keysAt: KeysAt,
	inThread: InThread,
	now = new Date(),
): Promise<RequestRefusal | undefined> {
	const place = {
		url: authorization.jwksURL,
		isSenders: false,
		id: header.kid,
	};
	const keys = await keysAt(algorithm, place);
	if (!keys || typeof keys === "string")
		return because(refusals.KeysUnavailable, keys ?? "");
	const read = `Read: a JSON Web Token (${header.alg}) in the header ${authorization.header}.`;
	const tried = `Tried: ${keys.length === 1 ? "1 key" : `${keys.length} keys`} at jwksURL.`;
	const { issuer, audience, clockSkewSeconds } = authorization;
	const how = {
		algorithms: [header.alg!],
		issuer,
		audience,
		clockTolerance: clockSkewSeconds,
		requiredClaims: ["exp"],
		currentDate: now,
	};
	for (const key of keys) {
		try {
			const { payload } = await inThread(() => jwtVerify(token, key, how));
			const wrong = authorization.requiredClaims?.find(
				({ name, value }) => textOf(payload, name) !== value,
			);
			return wrong
				? refused(
						`The token's claim ${wrong.name} isn't what requiredClaims says. ${read} ${tried}`,
					)
				: undefined;
		} catch (error) {
			if (error instanceof errors.JWSSignatureVerificationFailed) continue;
			return refused(`${faultWords(error)} ${read} ${tried}`);
		}
	}
	return refused(
		keys.length === 0
			? `No key at jwksURL has the token's kid. ${read} No key was tried.`
			: `No key matches the token's signature. ${read} ${tried}`,
	);
}

/** A claim as requiredClaims writes it; undefined for a list, an object and null. */
function textOf(payload: JWTPayload, name: string): string | undefined {
	const claim = Object.hasOwn(payload, name) ? payload[name] : undefined;
	if (typeof claim === "string") return claim;
	return typeof claim === "number" || typeof claim === "boolean"
		? JSON.stringify(claim)
		: undefined;
}

function faultWords(error: unknown): string {
	if (error instanceof errors.JWTExpired) return "The token has expired.";
	if (error instanceof errors.JWTClaimValidationFailed)
		return `The token's claim ${error.claim} is ${error.reason === "missing" ? "missing" : "not accepted"}.`;
	if (error instanceof errors.JOSEError) return "The token can't be decoded.";
	throw error;
}

function refused(cause: string): RequestRefusal {
	return because(refusals.WebTokenInvalid, cause);
}
