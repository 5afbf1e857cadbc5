import { expect, test } from "vitest";
import { providers } from "../../packages/contracts/providers.ts";
import {
	authorizationOf,
	hasSecret,
	newSource,
	withAuthorization,
	withProvider,
	withSecrets,
} from "./source-form.ts";

const none = { token: "", signing: "" };

test("a provider brings its scheme and its idempotency, and no Secret that isn't there", () => {
	const draft = withProvider(newSource(), "stripe", "");
	expect(draft).toEqual({
		name: "stripe",
		spec: {
			type: "Webhook",
			webhook: {
				authorization: { type: "Signature", signature: { scheme: "Stripe" } },
				idempotency: { key: { preset: "Stripe" } },
			},
		},
	});
});

test("another provider takes the place of all that the first one brought, but not of a name that somebody typed", () => {
	const github = withProvider(newSource(), "github", "");
	const typed = { ...github, name: "builds" };
	const stripe = withProvider(typed, "stripe", "github");
	expect(stripe.name).toBe("builds");
	expect(JSON.stringify(stripe.spec)).not.toContain("GitHub");
	expect(withProvider(stripe, "", "stripe").spec).toEqual({ type: "Webhook" });
});

test.each(Object.keys(providers))("%s becomes a draft", (name) => {
	const { spec } = withProvider(newSource(), name, "");
	expect(JSON.stringify(spec)).not.toContain("secretRefs");
});

test("secrets are in what is sent, and only those of the chosen type", () => {
	const secrets = { token: "a".repeat(16), signing: "whsec_1" };
	const token = withAuthorization(newSource(), "CustomToken");
	expect(JSON.stringify(token)).not.toContain(secrets.token);
	expect(withSecrets(token, secrets).spec).toEqual({
		type: "Webhook",
		webhook: {
			authorization: {
				type: "CustomToken",
				customToken: { token: secrets.token },
			},
		},
	});
	const signed = withAuthorization(token, "Signature", { scheme: "Stripe" });
	expect(JSON.stringify(withSecrets(signed, secrets))).toContain("whsec_1");
	expect(JSON.stringify(withSecrets(signed, secrets))).not.toContain("aaaa");
	expect(withSecrets(withAuthorization(signed, "None"), secrets).spec).toEqual({
		type: "Webhook",
	});
	expect(withSecrets(token, none)).toEqual(token);
});

test("a type of the YAML that the form doesn't know is left alone", () => {
	const draft = {
		name: "x",
		spec: { type: "Webhook", webhook: { authorization: "odd" } },
	};
	expect(authorizationOf(draft).type).toBe("None");
});

test("a new secret takes the place of a Source's own, whose Secret nobody reads", () => {
	const edited = (authorization: object) => ({
		name: "shop",
		spec: { type: "Webhook", webhook: { authorization } },
	});
	const ref = { name: "shop-1", key: "token" };
	const token = edited({
		type: "CustomToken",
		customToken: { secretRef: ref },
	});
	const signed = edited({
		type: "Signature",
		signature: { scheme: "Stripe", secretRefs: [ref] },
	});
	expect([token, signed, newSource()].map(hasSecret)).toEqual([
		...[true, true, false],
	]);
	expect([token, signed].map((one) => withSecrets(one, none))).toEqual([
		...[token, signed],
	]);
	const secrets = { token: "a".repeat(16), signing: "whsec_1" };
	expect(withSecrets(token, secrets)).toEqual(
		edited({ type: "CustomToken", customToken: { token: secrets.token } }),
	);
	expect(withSecrets(signed, secrets)).toEqual(
		edited({
			type: "Signature",
			signature: { scheme: "Stripe", secrets: ["whsec_1"] },
		}),
	);
});
