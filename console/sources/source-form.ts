import {
	type Provider,
	providers,
} from "../../packages/contracts/providers.ts";
import {
	type Draft,
	isObject,
	type PlainObject,
	valueAt,
	withField,
} from "../resource/draft.ts";

/** Of `spec.webhook.authorization`. */
export type AuthorizationType =
	| "None"
	| "CustomToken"
	| "Signature"
	| "AmazonSNS"
	| "JWT";

/** Secrets stay out of the draft, whose YAML is shown. They are added when it is sent. */
export interface SourceSecrets {
	token: string;
	signing: string;
}

const authorizationPath = "webhook.authorization";

export function providerOf(name: string): Provider | undefined {
	return Object.hasOwn(providers, name) ? providers[name] : undefined;
}

export function newSource(): Draft {
	return { name: "", spec: { type: "Webhook" } };
}

/** The draft with what the provider needs, and without what another one needed. A name that nobody typed follows the provider. */
export function withProvider(
	draft: Draft,
	name: string,
	previous: string,
): Draft {
	const isOwnName = draft.name !== "" && draft.name !== previous;
	const webhook = exchanged(
		draft.spec.webhook,
		broughtBy(previous),
		broughtBy(name),
	);
	return withField(
		{ ...draft, name: isOwnName ? draft.name : name },
		"webhook",
		Object.keys(webhook).length > 0 ? webhook : undefined,
	);
}

/** What a provider brings. Its Secret doesn't exist yet. */
function broughtBy(name: string): PlainObject {
	return JSON.parse(
		JSON.stringify(providerOf(name)?.webhook ?? {}, (key, value) =>
			key === "secretRefs" ? undefined : value,
		),
	);
}

/** The settings with those of one provider in place of another's. What somebody has added, such as to a list, stays. */
function exchanged(
	webhook: unknown,
	before: PlainObject,
	after: PlainObject,
): PlainObject {
	const all = { ...(isObject(webhook) ? webhook : {}) };
	for (const [field, value] of Object.entries(before)) {
		const own = all[field];
		const left =
			Array.isArray(own) && Array.isArray(value)
				? own.filter((one) => !value.includes(one))
				: [];
		if (left.length > 0) all[field] = left;
		else delete all[field];
	}
	for (const [field, value] of Object.entries(after)) {
		const own = all[field];
		all[field] =
			Array.isArray(own) && Array.isArray(value)
				? [...new Set([...own, ...value])]
				: value;
	}
	return all;
}

export function authorizationOf({ spec }: Draft): {
	type: AuthorizationType;
	scheme: string;
	topicARNs: string[];
} {
	const { webhook } = spec as { webhook?: unknown };
	const authorization = isObject(webhook) ? webhook.authorization : undefined;
	const { type, signature, amazonSNS } = isObject(authorization)
		? authorization
		: {};
	const { scheme } = isObject(signature) ? signature : {};
	const { topicARNs } = isObject(amazonSNS) ? amazonSNS : {};
	return {
		type: (type as AuthorizationType | undefined) ?? "None",
		scheme: String(scheme ?? "StandardWebhooks"),
		topicARNs: Array.isArray(topicARNs) ? topicARNs.map(String) : [],
	};
}

export function withAuthorization(
	draft: Draft,
	type: AuthorizationType,
	{ scheme = "StandardWebhooks", topicARNs = [] as string[] } = {},
): Draft {
	const signature = valueAt(draft.spec, `${authorizationPath}.signature`);
	const value = {
		None: undefined,
		CustomToken: { type },
		Signature: { type, signature: { ...withoutCustom(signature), scheme } },
		AmazonSNS: { type, amazonSNS: { topicARNs } },
		JWT: { type, jwt: valueAt(draft.spec, `${authorizationPath}.jwt`) ?? {} },
	}[type];
	return withField(draft, authorizationPath, value);
}

/** What a signature has beside its scheme, but for the description of one that no provider has. */
function withoutCustom(signature: unknown): PlainObject {
	const { custom: _, ...others } = isObject(signature) ? signature : {};
	return others;
}

/** What is sent: the draft with its secrets, which the API puts into Secrets. A new one takes the place of what was there. */
export function withSecrets(draft: Draft, secrets: SourceSecrets): Draft {
	const { type } = authorizationOf(draft);
	const [token, signature] = ["customToken", "signature"].map(
		(member) => `${authorizationPath}.${member}`,
	) as [string, string];
	if (type === "CustomToken" && secrets.token !== "")
		return withField(draft, token, { token: secrets.token });
	if (type === "Signature" && secrets.signing !== "")
		return withField(
			withField(draft, `${signature}.secretRefs`, undefined),
			`${signature}.secrets`,
			[secrets.signing],
		);
	return draft;
}

/** Whether the Source has the secret of its type of authorization already. */
export function hasSecret({ spec }: Draft): boolean {
	const at = (path: string) => valueAt(spec, `${authorizationPath}.${path}`);
	return (
		at("customToken.secretRef") !== undefined ||
		at("signature.secretRefs") !== undefined
	);
}

/** 32 random bytes, as a token for senders. */
export function randomToken(): string {
	const bytes = crypto.getRandomValues(new Uint8Array(32));
	return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
