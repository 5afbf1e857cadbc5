import type { IncomingHttpHeaders } from "node:http";
import { expect } from "vitest";
import type { Source, SourceWebhook } from "../../../crds/generated/types.ts";
import { formType } from "../../../ingest/receive/request/request-head.ts";
import {
	openSigningKeys,
	timely,
} from "../../../ingest/receive/request/signature-check.ts";
import { readSignature } from "../../../ingest/receive/request/signature-schemes.ts";
import { authorize } from "../../../operator/source/routes/authorization.ts";
import type { SignatureAuthorization } from "../../../packages/contracts/route.ts";
import { SealKey } from "../../../packages/service/seal-key.ts";
import { completed, isSigned } from "./signed-body.ts";

/*
 * How signatures get from a Source and its Secrets to a verdict: operator's half of the way, then receive's.
 */

const sealKey = new SealKey(Buffer.alloc(32, 7));
const sourceKey = "a".repeat(32);
const urlKey = "b".repeat(32);
const receiveURL = "https://hooks.example.com";
/** Of the Source. */
export const signedURL = `${receiveURL}/hooks/${sourceKey}/${urlKey}`;
export const signedAtMs = Date.parse("2026-03-01T12:00:00Z");
export const signedBody = '{"id":"evt_1","text":"Käse 🧀","n":1.0}\r\n';

export type SignatureSpec = NonNullable<
	SourceWebhook["authorization"]["signature"]
>;

export function resolve(
	signature: Partial<SignatureSpec> & Pick<SignatureSpec, "scheme">,
	...secrets: string[]
) {
	return resolveSource(signature, {}, ...secrets);
}

export function resolveSource(
	signature: Partial<SignatureSpec> & Pick<SignatureSpec, "scheme">,
	settings: Partial<SourceWebhook>,
	...secrets: string[]
) {
	const ref = (n: number) => ({ name: `s${n}`, key: "k" });
	const source: Source = {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Source",
		metadata: { name: "orders", namespace: "shop" },
		spec: {
			type: "Webhook",
			webhook: {
				authorization: {
					type: "Signature",
					signature: {
						...(!signature.custom?.publicKey && {
							secretRefs: secrets.map((_, n) => ref(n)),
						}),
						toleranceSeconds: 300,
						...signature,
					},
				},
				maxBodyBytes: 1024,
				...settings,
			},
			suspend: false,
			retentionDays: 30,
			deletionPolicy: "Retain",
		},
	};
	return authorize(source, {
		secretOf: (name) => ({
			metadata: { name, labels: { "tidemill.dev/use": "true" } },
			data: {
				k: Buffer.from(`${secrets[Number(name.slice(1))]}\n`).toString(
					"base64",
				),
			},
		}),
		sealKey,
		sourceKey,
		receiveURL,
	});
}

/** A verdict on headers and body, at an instant. */
export function verifier(...of: Parameters<typeof resolve>) {
	const { authorization, problem } = resolve(...of);
	expect(problem).toBeUndefined();
	const signature = authorization as SignatureAuthorization;
	const keys = openSigningKeys(signature, sourceKey, sealKey);
	return async (
		headers: IncomingHttpHeaders,
		text: string | Buffer = signedBody,
		atMs = signedAtMs,
		query?: string,
	): Promise<boolean> => {
		const address = { sourceKey, urlKey, query };
		const bytes = Buffer.from(text);
		const presented = completed(
			readSignature(signature, headers, address),
			bytes,
			formType(headers["content-type"]) ? "form" : "json",
		);
		const current =
			presented && timely(presented, signature.toleranceSeconds, atMs);
		return current !== undefined && (await isSigned(current, keys, bytes));
	};
}
