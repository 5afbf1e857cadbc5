import { expect, test } from "vitest";
import { apiResources } from "./api-resource.ts";
import { takeSecrets } from "./secret-fields.ts";

const { secretFields } = apiResources.find(
	({ collection }) => collection === "sources",
)!;

test("signing secrets become the keys of one Secret, in order", () => {
	const { body, secrets, errors } = takeSecrets(
		secretFields,
		sourceOf({ signature: { scheme: "GitHub", secrets: ["new", "old"] } }),
		"shop",
	);
	expect(errors).toEqual([]);
	expect(secrets).toEqual([
		{
			name: expect.stringMatching(/^shop-secrets-[0-9a-f]{10}$/),
			values: { "secrets-0": "new", "secrets-1": "old" },
		},
	]);
	const { name } = secrets[0]!;
	expect(body).toEqual(
		sourceOf({
			signature: {
				scheme: "GitHub",
				secretRefs: [
					{ name, key: "secrets-0" },
					{ name, key: "secrets-1" },
				],
			},
		}),
	);
});

test("a public key becomes a Secret, too", () => {
	const at = (publicKey: object) =>
		sourceOf({ signature: { scheme: "Custom", custom: { publicKey } } });
	const { body, secrets, errors } = takeSecrets(
		secretFields,
		at({ key: "PEM" }),
		"shop",
	);
	expect(errors).toEqual([]);
	expect(secrets).toMatchObject([{ values: { key: "PEM" } }]);
	const { name } = secrets[0]!;
	expect(body).toEqual(at({ secretRef: { name, key: "key" } }));
});

test("a token and a reference to one are refused together", () => {
	const secretRef = { name: "mine", key: "token" };
	const { errors } = takeSecrets(
		secretFields,
		sourceOf({ customToken: { token: "x", secretRef } }),
		"shop",
	);
	expect(errors).toEqual([
		{
			path: "webhook.authorization.customToken.token",
			message: "must not be combined with secretRef",
		},
	]);
});

test("a reference of null beside a token is refused, unless the body is a patch", () => {
	const token = "sixteen letters!";
	const body = sourceOf({ customToken: { token, secretRef: null } });
	expect(takeSecrets(secretFields, body, "shop").errors).toHaveLength(1);
	expect(takeSecrets(secretFields, body, "shop", true).errors).toEqual([]);
});

test.each(["", 1, null, ["x"], "fifteen letters", "sixteen\tletters!", "\n"])(
	"a token of %j is refused",
	(token) => {
		const { errors } = takeSecrets(
			secretFields,
			sourceOf({ customToken: { token } }),
			"shop",
		);
		expect(errors).toMatchObject([
			{ path: "webhook.authorization.customToken.token" },
		]);
	},
);

test("a signing secret of the wrong kind is refused with what is right, and never quoted", () => {
	const taken = (scheme: string | undefined, ...secrets: string[]) =>
		takeSecrets(
			secretFields,
			sourceOf({ type: "Signature", signature: { scheme, secrets } }),
			"shop",
		).errors;
	expect(taken("Stripe", "whsec_1", "sk_live_51H\n")).toEqual([
		{
			path: "webhook.authorization.signature.secrets",
			message:
				'is a secret key of an API. Right is the endpoint\'s signing secret, "whsec_…"',
		},
	]);
	expect(taken("Stripe", "whsec_1")).toEqual([]);
	// A patch that keeps the scheme: operator tells.
	expect(taken(undefined, "sk_live_51H")).toEqual([]);
});

test("a body without secrets stays as it is", () => {
	for (const body of [
		{},
		{ webhook: null },
		{ webhook: [] },
		sourceOf({ type: "None" }),
	])
		expect(takeSecrets(secretFields, body, "shop")).toEqual({
			body,
			secrets: [],
			errors: [],
		});
});

function sourceOf(authorization: object) {
	return { type: "Webhook", webhook: { authorization } };
}
