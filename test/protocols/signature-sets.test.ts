import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
	setsIn,
	signatureBytes,
	textsIn,
} from "../../ingest/receive/request/signature-sets.ts";
import {
	resolve,
	type SignatureSpec,
	signedAtMs,
	signedBody,
	verifier,
} from "../support/bodies/signature-verdict.ts";

const now = String(signedAtMs / 1_000);
const earlier = String(signedAtMs / 1_000 - 60);
const stale = String(signedAtMs / 1_000 - 301);
const secret = "whsec_of_stripe";

function hmac(text: string, encoding: "hex" | "base64" = "hex", key = secret) {
	return createHmac("sha256", key).update(text).digest(encoding);
}

const stripe = (time: string, key?: string) =>
	hmac(`${time}.${signedBody}`, "hex", key);
const wrong = "ab".repeat(32);
const verify = verifier({ scheme: "Stripe" }, secret);
const bySlack = `v0=${hmac(`v0:${now}:${signedBody}`)}`;
const base64 = hmac(signedBody, "base64");
type Custom = NonNullable<SignatureSpec["custom"]>;
const custom = (change: Partial<Custom>) =>
	verifier(
		{
			scheme: "Custom",
			custom: {
				algorithm: "SHA256",
				encoding: "Base64",
				header: "x-sig",
				signedString: "{body}",
				...change,
			},
		},
		secret,
	);

describe("several signatures while a secret rotates", () => {
	test.each([
		["a part that comes twice", `t=${now},v1=${wrong},v1=${stripe(now)}`],
		["a list in one part", `t=${now},v1=${wrong},${stripe(now)}`],
		["a list with blanks", `t=${now}, v1=${wrong} ${stripe(now)}`],
		["two sets", `t=${now},v1=${wrong} t=${earlier},v1=${stripe(earlier)}`],
		[
			"the header twice, as node:http joins it",
			`t=${now},v1=${wrong}, t=${earlier},v1=${stripe(earlier)}`,
		],
		[
			"sets whose time comes last",
			`v1=${wrong},t=${earlier} v1=${stripe(now)},t=${now}`,
		],
		[
			"a set whose other is stale",
			`t=${stale},v1=${wrong} t=${now},v1=${stripe(now)}`,
		],
		["a set without a time", `v1=${wrong};t=${now};v1=${stripe(now)}`],
		["quotes and semicolons", `t="${now}"; v1="${wrong},${stripe(now)}"`],
	])("%s", async (_, header) => {
		expect(await verify({ "stripe-signature": header })).toBe(true);
	});

	test.each([
		[
			"the time of another set",
			`t=${now},v1=${wrong} t=${earlier},v1=${stripe(now)}`,
		],
		[
			"a time that is stale",
			`t=${now},v1=${wrong} t=${stale},v1=${stripe(stale)}`,
		],
		[
			"the third time",
			`t=${now},v1=${wrong} t=${earlier},v1=${wrong} t=${Number(now) - 1},v1=${stripe(String(Number(now) - 1))}`,
		],
		["a part of another name", `t=${now},v1=${wrong},v0=${stripe(now)}`],
		[
			"the seventeenth signature",
			`t=${now},v1=${Array(16).fill(wrong).join()},${stripe(now)}`,
		],
	])("never by %s", async (_, header) => {
		expect(await verify({ "stripe-signature": header })).toBe(false);
	});

	test("every scheme takes them where its provider puts them", async () => {
		const by = (scheme: SignatureSpec["scheme"], headers: object) =>
			verifier(
				{ scheme },
				scheme === "Svix" ? `whsec_${btoa(secret.repeat(2))}` : secret,
			)({
				...headers,
			});
		const gitHub = hmac(signedBody);
		expect(
			await by("GitHub", {
				"x-hub-signature-256": `sha256=${wrong}, sha256=${gitHub}`,
			}),
		).toBe(true);
		expect(
			await by("Meta", { "x-hub-signature-256": `sha256=${wrong},${gitHub}` }),
		).toBe(true);
		expect(
			await by("Shopify", { "x-shopify-hmac-sha256": `AAAA, ${base64}` }),
		).toBe(true);
		expect(
			await by("Slack", {
				"x-slack-request-timestamp": now,
				"x-slack-signature": `v0=${wrong} ${bySlack}`,
			}),
		).toBe(true);
		const svix = hmac(`m.${now}.${signedBody}`, "base64", secret.repeat(2));
		for (const list of [
			`v1,AAAA v1,${svix}`,
			`v1,AAAA, v1,${svix}`,
			`v2,AAAA v1,AAAA ${svix}`,
		])
			expect(
				await by("Svix", {
					"svix-id": "m",
					"svix-timestamp": now,
					"svix-signature": list,
				}),
			).toBe(true);
		expect(
			await by("Svix", {
				"svix-id": "m",
				"svix-timestamp": now,
				"svix-signature": `v2,${svix}`,
			}),
		).toBe(false);
	});

	test("a scheme of one's own does, too", async () => {
		for (const header of [
			`AAAA,${base64}`,
			`AAAA ${base64}`,
			`AAAA; ${base64}`,
		])
			expect(await custom({})({ "x-sig": header })).toBe(true);
		const prefixed = custom({ prefix: "hmac " });
		for (const header of [`hmac ${base64}`, `hmac AAAA, hmac ${base64}`])
			expect(await prefixed({ "x-sig": header })).toBe(true);
		expect(await prefixed({ "x-sig": base64 })).toBe(false);
		for (const header of [`bearer AAAA, hmac ${base64}`, `"hmac ${base64}"`])
			expect(await prefixed({ "x-sig": header })).toBe(true);
		// Finch and others sign as Standard Webhooks does, in headers of their own names.
		const versioned = custom({ prefix: "v1," });
		for (const header of [
			`v1,${base64}`,
			`v1,AAAA v1,${base64}`,
			`v2,AAAA v1,${base64}`,
			`v1a,AAAA v1,AAAA,${base64}`,
			Array(16).fill("v1,AAAA").join(" ").replace(/A+$/, base64),
		])
			expect(await versioned({ "x-sig": header }), header).toBe(true);
		for (const header of [`v2,${base64}`, `v11,${base64}`, base64, "v1,"])
			expect(await versioned({ "x-sig": header }), header).toBe(false);
		// Worldpay's Event-Signature.
		const keyed = custom({ prefix: "2/SHA256/", encoding: "Hex" });
		const worldpay = `1/SHA256/${wrong}, 2/SHA256/${hmac(signedBody)}`;
		expect(await keyed({ "x-sig": worldpay })).toBe(true);
		const timed = custom({
			headerPart: "s",
			timestampHeader: "x-sig",
			timestampHeaderPart: "ts",
			timestampFormat: "RFC3339",
			signedString: "{timestamp}{body}",
		});
		const [a, b] = ["2026-03-01 12:00:00Z", "2026-03-01T11:59:00Z"];
		const of = (time: string) => hmac(`${time}${signedBody}`, "base64");
		expect(await timed({ "x-sig": `ts=${a};s=AAAA ts=${b};s=${of(b)}` })).toBe(
			true,
		);
		expect(await timed({ "x-sig": `ts=${a};s=${of(a)}` })).toBe(true);
		expect(await timed({ "x-sig": `ts=${a};s=${of(b)} ts=${b};s=AAAA` })).toBe(
			false,
		);
	});
});

const t = "2026-03-01T12:00:00Z";
const timedBy = (name: string, of: Partial<Custom> = {}) => ({
	header: "x-sig",
	headerPart: "v1",
	signedString: "{timestamp}.{body}",
	timestampHeader: "x-sig",
	timestampHeaderPart: name,
	encoding: "Hex" as const,
	...of,
});

/** As each provider's page says that it signs. */
const written: Record<string, [custom: Partial<Custom>, header: string]> = {
	PagerDuty: [
		{ prefix: "v1=", encoding: "Hex" },
		`v1=${wrong},v1=${hmac(signedBody)}`,
	],
	"Persona, whose sets have one time": [
		timedBy("t"),
		`t=${now},v1=${wrong} t=${now},v1=${stripe(now)}`,
	],
	Increase: [
		timedBy("t", { timestampFormat: "RFC3339" }),
		`t=${t},v1=${hmac(`${t}.${signedBody}`)}`,
	],
	"Cloudflare Stream": [
		timedBy("time", { headerPart: "sig1" }),
		`time=${now},sig1=${stripe(now)}`,
	],
	WorkOS: [
		timedBy("t", { timestampFormat: "UnixMillis" }),
		`t=${signedAtMs}, v1=${stripe(String(signedAtMs))}`,
	],
	"Hook0, which also names headers": [
		timedBy("t"),
		`t=${now},h=x-event-id x-event-type,v1=${stripe(now)}`,
	],
	"Typeform, in Base64 whose padding is an equals sign": [
		{ headerPart: "sha256" },
		`sha256=${base64}`,
	],
	"Microsoft Teams": [{ prefix: "HMAC " }, `HMAC ${base64}`],
	Recurly: [{ encoding: "Hex" }, `${now},${wrong},${hmac(signedBody)}`],
	"the parameters of an Authorization": [
		{ headerPart: "signature" },
		`HMAC-SHA256 keyId="k", signature="${base64}"`,
	],
};

test.each(Object.entries(written))("%s is read", async (_, [spec, header]) => {
	expect(await custom(spec)({ "x-sig": header })).toBe(true);
});

describe("alphabet, padding and case are free", () => {
	const url = base64.replaceAll("+", "-").replaceAll("/", "_");
	test.each([
		["Base64url", "Base64", url],
		["without padding", "Base64", base64.replace(/=+$/, "")],
		["Base64url without padding", "Base64", url.replace(/=+$/, "")],
		["upper-case hexadecimal", "Hex", hmac(signedBody).toUpperCase()],
	] as const)("%s", async (_, encoding, text) => {
		expect(await custom({ encoding })({ "x-sig": text })).toBe(true);
	});

	test.each([
		["hexadecimal where Base64 is said", "Base64", hmac(signedBody)],
		["Base64 where hexadecimal is said", "Hex", base64],
		["a shorter one", "Base64", base64.slice(0, 20)],
		["one with more after it", "Hex", `${hmac(signedBody)}00`],
		["one in a text", "Base64", `x.${base64}`],
	] as const)("but never %s", async (_, encoding, text) => {
		expect(await custom({ encoding })({ "x-sig": text })).toBe(false);
	});

	test("a signature in a body may be broken into lines", () => {
		expect(textsIn("QUJD\r\nREVG\n")).toEqual(["QUJDREVG"]);
	});
});

test("a list in a body is as long as one in a header can be", async () => {
	const accepts = verifier(
		{
			scheme: "Custom",
			custom: {
				algorithm: "SHA256",
				encoding: "Hex",
				bodyPointer: "/sig",
				signedString: "{bodyPointer:/text}",
				bodyUnsigned: true,
			},
		},
		secret,
	);
	const sent = (filler: string) =>
		accepts({}, JSON.stringify({ text: "a", sig: `${hmac("a")}${filler}` }));
	expect(await sent(",AA".repeat(5_000))).toBe(true);
	expect(await sent(",AA".repeat(6_000))).toBe(false);
});

test("padding is no name of a part", () => {
	expect(setsIn("v1=QUJDRA==,REVGRw==", { name: "v1" })).toEqual([
		{ time: undefined, texts: ["QUJDRA==", "REVGRw=="] },
	]);
	expect(signatureBytes("REVGRw==", "base64")?.toString()).toBe("DEFG");
});

test("a header of separators alone, as long as one may be, is read in linear time", () => {
	for (const header of [
		" ".repeat(16_000),
		"a ".repeat(8_000),
		"t=1 ".repeat(4_000),
		",".repeat(16_000),
	])
		expect(setsIn(header, { name: "v1", timeName: "t" })).toEqual([]);
});

test("routes name the Secret and the key that each signing key came from, and nothing of its value", () => {
	const { authorization } = resolve({ scheme: "Stripe" }, secret, "whsec_2");
	expect(authorization).toMatchObject({
		keys: [
			{ from: { secret: "s0", key: "k" } },
			{ from: { secret: "s1", key: "k" } },
		],
	});
	expect(JSON.stringify(authorization)).not.toContain("whsec_");
});
