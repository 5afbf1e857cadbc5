import { annotation, label, managedByApi } from "../../crds/labels.ts";
import type { RoleBinding, ServiceAccount } from "../../packages/kube/kinds.ts";
import type { JsonObject } from "../http/endpoint.ts";
import { type ErrorDetail, invalidFields } from "../http/errors.ts";
import { resourceNamePattern } from "./resource-body.ts";

/** What a token may do in its account, with the ClusterRole that permits it. No scope hands out tokens. */
export const tokenScopes = {
	read: "tidemill-viewer",
	run: "tidemill-runner",
	edit: "tidemill-editor",
} as const;

export type TokenScope = keyof typeof tokenScopes;

/** The apiserver issues none for less (authentication.k8s.io/v1 TokenRequestSpec). */
export const minSeconds = 600;
export const maxSeconds = 365 * 24 * 60 * 60;
const defaultSeconds = 30 * 24 * 60 * 60;

export interface TokenRequest {
	name: string;
	scope: TokenScope;
	expiresInSeconds: number;
}

/** In place of a time, of a token that a Secret holds. */
export const neverExpires = "never";

/** Name of a token's ServiceAccount and RoleBinding. The admission policy tidemill-roles has the same prefix. */
export function objectName(token: string): string {
	return `tidemill-token-${token}`;
}

export function labelsOf(scope: TokenScope): Record<string, string> {
	return { ...managedByApi, [label.token]: scope };
}

/** A token in the API: all but the token itself, which only the answer to its creation has. */
export function tokenView(
	{ metadata, roleRef }: RoleBinding,
	now = Date.now(),
): JsonObject & { name: string } {
	const { name, uid, creationTimestamp } = metadata;
	const expiryMs = expiryOf(metadata);
	return {
		name: name.slice(objectName("").length),
		id: uid,
		createTime: creationTimestamp,
		scope: scopeOf(roleRef),
		...(expiryMs !== undefined && {
			expireTime: new Date(expiryMs).toISOString().replace(".000Z", "Z"),
		}),
		status: expiryMs === undefined || expiryMs > now ? "Active" : "Expired",
	};
}

/**
 * When the token expires, in milliseconds since the epoch; undefined if nothing that can be believed says so: anybody in the
 * account may have made the binding or written the annotation, and a token that works must not be called expired.
 */
function expiryOf({
	creationTimestamp,
	annotations,
}: RoleBinding["metadata"]): number | undefined {
	const ms = Date.parse(annotations?.[annotation.tokenExpires] ?? "");
	const soonestMs = Date.parse(creationTimestamp ?? "") + minSeconds * 1_000;
	// The token is older than its binding, by the time that Kubernetes takes for both.
	return Number.isNaN(ms) || ms < soonestMs - 60_000 ? undefined : ms;
}

/** By what Kubernetes permits: anybody may have written the label, and bound another role. */
function scopeOf({
	kind,
	name,
}: RoleBinding["roleRef"]): TokenScope | "custom" {
	const found = (Object.keys(tokenScopes) as TokenScope[]).find(
		(scope) => tokenScopes[scope] === name,
	);
	return (kind === "ClusterRole" && found) || "custom";
}

/** Kubernetes deletes the binding with its ServiceAccount. */
export function bindingOf(
	{ metadata: { name, namespace, uid } }: ServiceAccount,
	scope: TokenScope,
	annotations: Record<string, string>,
): RoleBinding {
	return {
		metadata: {
			name,
			namespace: namespace!,
			labels: labelsOf(scope),
			annotations,
			ownerReferences: [
				{ apiVersion: "v1", kind: "ServiceAccount", name, uid: uid! },
			],
		},
		roleRef: {
			apiGroup: "rbac.authorization.k8s.io",
			kind: "ClusterRole",
			name: tokenScopes[scope],
		},
		subjects: [{ kind: "ServiceAccount", name, namespace: namespace! }],
	};
}

/** Throws a 400 that names each field that is wrong. */
export function readTokenRequest(body: JsonObject): TokenRequest {
	const { name, scope, expiresInSeconds = defaultSeconds, ...others } = body;
	const details: ErrorDetail[] = Object.keys(others).map((path) => ({
		path,
		message:
			"is not a known field. Known ones are name, scope, expiresInSeconds.",
	}));
	const require = (holds: boolean, path: string, message: string) => {
		if (!holds) details.push({ path, message });
	};
	require(typeof name === "string" &&
		new RegExp(resourceNamePattern).test(
			name,
		), "name", "must be 1 to 40 lower-case letters, digits and hyphens, and neither begin nor end with a hyphen");
	require(typeof scope === "string" &&
		Object.hasOwn(
			tokenScopes,
			scope,
		), "scope", `must be one of ${Object.keys(tokenScopes).join(", ")}`);
	require(Number.isInteger(expiresInSeconds) &&
		Number(expiresInSeconds) >= minSeconds &&
		Number(expiresInSeconds) <=
			maxSeconds, "expiresInSeconds", `must be a whole number between ${minSeconds} and ${maxSeconds}`);
	if (details.length > 0) throw invalidFields("token", details);
	return { name, scope, expiresInSeconds } as TokenRequest;
}
