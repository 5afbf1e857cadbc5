import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
	answerChallenge,
	isLikeComputed,
} from "../../ingest/receive/request/url-challenge.ts";
import type { Route } from "../../packages/contracts/route.ts";
import {
	type SignatureSpec,
	signedAtMs,
	verifier,
} from "../support/bodies/signature-verdict.ts";

/*
 * Anybody who has the URL of a Source can have texts signed by its computed answers. Here somebody tries to have events signed so.
 */

const secret = "hush";
const key = { algorithm: "HMAC" as const, key: Buffer.from(secret) };
const seconds = String(signedAtMs / 1_000);
const evil = '{"order":1000000}';

type Computed = NonNullable<
	NonNullable<
		NonNullable<Route["verification"]>["challenges"]
	>[number]["answer"]["compute"]
>;

function verificationWith(compute: Omit<Computed, "input">) {
	const answer = {
		status: 200 as const,
		contentType: "text/plain" as const,
		template: "{computed}",
		compute: { ...compute, input: "{queryParameter:a}" },
	};
	const match = { method: "GET" as const };
	return { allowGet: false, handshakes: [], challenges: [{ match, answer }] };
}

/** What the Source's URL answers to the text; undefined if it signs nothing. */
function signedByAnswer(
	text: string,
	verification: ReturnType<typeof verificationWith>,
): string | undefined {
	const query = new URLSearchParams({ a: text }).toString();
	const answer = answerChallenge(
		{ verification, signingKeys: [key], authorization: { type: "None" } },
		{ method: "GET", headers: {}, query },
	);
	return answer && "code" in answer ? undefined : answer?.body;
}

interface Attempt {
	signature: Partial<SignatureSpec> & Pick<SignatureSpec, "scheme">;
	compute: Omit<Computed, "input">;
	/** What the scheme signs of the body. */
	signedText(body: string): string;
	headers(signature: string): Record<string, string>;
}

const hex = { algorithm: "SHA256", encoding: "Hex" } as const;
const base64 = { algorithm: "SHA256", encoding: "Base64" } as const;

function custom(
	signedString: string,
	signedText: Attempt["signedText"],
	more: object = {},
): Attempt {
	return {
		signature: {
			scheme: "Custom",
			custom: { header: "x-signature", ...hex, signedString, ...more },
		},
		compute: hex,
		signedText,
		headers: (signature) => ({
			"x-signature": signature,
			"x-time": seconds,
			"x-id": "id-7_",
		}),
	};
}

const attempts: Record<string, Attempt> = {
	GitHub: {
		signature: { scheme: "GitHub" },
		compute: hex,
		signedText: (body) => body,
		headers: (signature) => ({ "x-hub-signature-256": `sha256=${signature}` }),
	},
	Shopify: {
		signature: { scheme: "Shopify" },
		compute: base64,
		signedText: (body) => body,
		headers: (signature) => ({ "x-shopify-hmac-sha256": signature }),
	},
	Slack: {
		signature: { scheme: "Slack" },
		compute: hex,
		signedText: (body) => `v0:${seconds}:${body}`,
		headers: (signature) => ({
			"x-slack-request-timestamp": seconds,
			"x-slack-signature": `v0=${signature}`,
		}),
	},
	Stripe: {
		signature: { scheme: "Stripe" },
		compute: hex,
		signedText: (body) => `${seconds}.${body}`,
		headers: (signature) => ({
			"stripe-signature": `t=${seconds},v1=${signature}`,
		}),
	},
	"a Custom scheme": custom("{body}", (body) => body),
	"a Custom scheme with the time": custom(
		"{timestamp}{body}",
		(body) => seconds + body,
		{ timestampHeader: "x-time" },
	),
	"a Custom scheme with a header": custom(
		"v1_{body}-{header:x-id}",
		(body) => `v1_${body}-id-7_`,
	),
	"a Custom scheme that has the body twice": custom(
		"{body}{body}",
		(body) => body + body,
	),
};

describe.each(Object.entries(attempts))(
	"%s: what an answer signs is no event",
	(_, { signature, compute, signedText, headers }) => {
		const accepts = verifier(signature, secret);
		const verification = verificationWith(compute);

		test.each([
			evil,
			"[1]",
			'"a"',
			"1.5",
			"-1e9",
			"123",
			"null",
			"",
			"9".repeat(129),
		])("%j", async (body) => {
			const answer = signedByAnswer(signedText(body), verification);
			if (answer === undefined) return;
			// It is the signature of this body, which is therefore never an event.
			expect(await accepts(headers(answer), body)).toBe(true);
			expect(isLikeComputed({ verification }, [Buffer.from(body)])).toBe(true);
		});
	},
);

test("if a digest were signed instead of the body, an answer could be the signature of any event, so admission refuses that", async () => {
	const { signature, headers } = custom("{bodyDigest:sha256}", (body) => body);
	const digest = createHash("sha256").update(evil).digest("hex");
	const verification = verificationWith(hex);
	const answer = signedByAnswer(digest, verification)!;
	expect(await verifier(signature, secret)(headers(answer), evil)).toBe(true);
	expect(isLikeComputed({ verification }, [Buffer.from(evil)])).toBe(false);
});
