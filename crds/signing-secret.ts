import type { SourceWebhook } from "./generated/types.ts";

type Scheme = NonNullable<
	SourceWebhook["authorization"]["signature"]
>["scheme"];

/** What a scheme's provider shows as its signing secret, and what people take for it. */
interface SecretForms {
	right: string;
	/** Every secret of this provider has this form; absent if people choose it. */
	usual?: RegExp;
	wrong: [form: RegExp, words: string][];
}

const hex32 = /^[0-9a-f]{32}$/i;
const apiKey: SecretForms["wrong"] = [
	[/^(sk|rk)_/, "a secret key of an API"],
	[/^pk_/, "a publishable key, which everybody may see"],
];
const standard: SecretForms = {
	right: '"whsec_…", or the public key "whpk_…"',
	wrong: [...apiKey, [/^whsk_/, "the sender's private key"]],
};

const forms: Partial<Record<Scheme, SecretForms>> = {
	StandardWebhooks: standard,
	Svix: standard,
	// docs.stripe.com/keys: "API keys".
	Stripe: {
		right: 'the endpoint\'s signing secret, "whsec_…"',
		usual: /^whsec_/,
		wrong: apiKey,
	},
	// github.blog, "Behind GitHub's new authentication token formats".
	GitHub: {
		right: "the text that you chose as the webhook's secret",
		wrong: [[/^(gh[a-z]|github_pat)_/, "a token of GitHub's API"]],
	},
	// docs.slack.dev, "Tokens"; "Verifying requests from Slack".
	Slack: {
		right: "the app's signing secret, 32 hexadecimal digits",
		usual: hex32,
		wrong: [[/^(xox[a-z]|xapp|xwfp)[-.]/, "a token of Slack's API"]],
	},
	// shopify.dev, "Access tokens"; "Client secrets".
	Shopify: {
		right:
			"the app's client secret, or what the store shows below its webhooks",
		usual: /^(shpss_)?[0-9a-f]{32,64}$/i,
		wrong: [[/^shp(at|ca|pa|ua|tka)_/, "an access token of Shopify's API"]],
	},
	// developers.facebook.com, "Access Tokens".
	Meta: {
		right: "the app secret, 32 hexadecimal digits",
		usual: hex32,
		wrong: [[/^(EAA|IGAA|IGQV|THAA|\d+\|)/, "an access token of Meta's API"]],
	},
	// twilio.com/docs/glossary, "String identifier (SID)".
	Twilio: {
		right: "the account's auth token, 32 hexadecimal digits",
		usual: hex32,
		wrong: [[/^(AC|SK)[0-9a-f]{32}$/i, "the SID of an account or a key"]],
	},
};

/** No provider's secret looks like these, also where people describe the scheme. Its bytes are the key. */
const never: SecretForms["wrong"] = [
	[/^[a-z][a-z0-9+.-]*:\/\//i, "a URL"],
	[/-----BEGIN [A-Z ]*(KEY|CERTIFICATE)-----/, "a key or certificate in PEM"],
];

/** Why a text can't be the signing secret of a scheme, such as "is a URL", and what is right; undefined if it can. Never quotes the text. */
export function signingSecretFault(
	scheme: string,
	secret: string,
): string | undefined {
	const { right, wrong } = formsOf(scheme);
	const found = [...wrong, ...never].find(([form]) => form.test(secret.trim()));
	return found && `is ${found[1]}. Right is ${right}`;
}

/** Why a text is hardly the signing secret of a scheme, in the same words. */
export function signingSecretDoubt(
	scheme: string,
	secret: string,
): string | undefined {
	const { right, usual } = formsOf(scheme);
	if (secret.trim() !== secret) return "begins or ends with white space";
	if (/^(["'`]).*\1$/s.test(secret)) return "stands in quotes";
	return usual && !usual.test(secret)
		? `doesn't look like ${right}`
		: undefined;
}

function formsOf(scheme: string): SecretForms {
	return (
		forms[scheme as Scheme] ?? {
			right: "the secret that the sender signs with",
			wrong: [],
		}
	);
}
