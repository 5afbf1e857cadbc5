import type { Route } from "../../contracts/route.ts";
import type { Source } from "../../crds/generated/types.ts";
import type { Secret } from "../kube/kinds.ts";
import { label } from "../labels.ts";
import type { Reason } from "../reasons.ts";
import { digest } from "./keys.ts";

/** Why a Source can't be served as it asks; becomes its Ready condition. */
export interface Problem {
	reason: Reason<"Source">;
	message: string;
}

/**
 * What receivers must ask of senders. Whatever can't be resolved is `Unavailable`, never open.
 * @param secret the Secret that `customToken.secretRef` names, with its label or without; undefined when there is none.
 */
export function authorize(
	source: Source,
	secret: Secret | undefined,
): { authorization: Route["authorization"]; problem?: Problem } {
	const refuse = (reason: Problem["reason"], message: string) => ({
		authorization: { type: "Unavailable" } as const,
		problem: { reason, message },
	});
	const { authorization, trackingPlanRef } = source.spec.webhook;
	if (trackingPlanRef)
		return refuse(
			"UnsupportedTrackingPlan",
			"This version of Tidemill does not apply tracking plans. Remove spec.webhook.trackingPlanRef to accept events unchecked.",
		);
	if (authorization.type === "None") return { authorization: { type: "None" } };
	if (authorization.type === "Signature")
		return refuse(
			"UnsupportedAuthorization",
			"This version of Tidemill does not verify signatures. Set spec.webhook.authorization.type to CustomToken, or to None if the URL is secret enough.",
		);

	const { name, key } = authorization.customToken!.secretRef;
	if (!secret)
		return refuse(
			"SecretNotFound",
			`There is no Secret "${name}" in namespace "${source.metadata.namespace}". Create it with the label ${label.use}: "true".`,
		);
	if (secret.metadata.labels?.[label.use] !== "true")
		return refuse(
			"SecretNotLabelled",
			`Secret "${name}" is not read, since it lacks the label ${label.use}: "true". Run: kubectl label secret ${name} ${label.use}=true -n ${source.metadata.namespace}`,
		);
	const value = secret.data?.[key];
	if (value === undefined)
		return refuse(
			"SecretKeyNotFound",
			`Secret "${name}" has no key "${key}". Add it, or correct spec.webhook.authorization.customToken.secretRef.key.`,
		);
	const token = tokenOf(value);
	if (token === undefined)
		return refuse(
			"TokenInvalid",
			`Key "${key}" of Secret "${name}" is empty or holds control characters. Put a token there that senders can present.`,
		);
	return { authorization: { type: "CustomToken", digests: [digest(token)] } };
}

/**
 * One line end after the token is not part of it: `echo token | base64` leaves one, and no header could carry it.
 * Undefined when what remains can't be presented (RFC 9110 §5.5: no control characters in a field value).
 */
function tokenOf(base64: string): string | undefined {
	const token = Buffer.from(base64, "base64")
		.toString()
		.replace(/\r?\n$/, "");
	return /^\P{Cc}+$/u.test(token) ? token : undefined;
}
