/**
 * Every reason that a condition can have: kind → condition type → reason → what it means, in one line.
 * docs/reference/conditions.md says the same to people; a test holds the two together. Reasons are API: they are added,
 * never renamed.
 */
export const reasons = {
	Source: {
		Ready: {
			Active: "The URL accepts events.",
			Suspended: "`spec.suspend` is true: senders are answered with 403.",
			SecretNotFound:
				"The Secret that `secretRef` names does not exist in the Source's namespace.",
			SecretNotLabelled:
				'The Secret does not carry the label `tidemill.dev/use: "true"`, without which it is not read.',
			SecretKeyNotFound: "The Secret has no such key.",
			TokenInvalid:
				"The token in the Secret is empty or holds control characters, so no sender could present it.",
			UnsupportedAuthorization:
				"This version does not serve the authorization type; everything is refused with 401.",
			UnsupportedTrackingPlan:
				"This version does not apply tracking plans; everything is refused with 401 rather than stored unchecked.",
			KeyTaken:
				"The source key belongs to another namespace or to an older Source in this one.",
			KeysSecretInvalid:
				"The Secret `<source>-webhook-url` was not issued by Tidemill for this Source, or its keys are damaged.",
			RouteNotPublished:
				"The URL's route is on its way to the receivers; it waits for NATS if that is away.",
		},
	},
	Destination: {
		Ready: {
			Verified: "A check from inside the namespace could write.",
			Checking: "The check is running.",
			CheckFailed:
				"The check failed; the message has the destination's own words. It is repeated.",
			CheckNotFinished:
				"The check's Pod did not start or did not end in time; the message says what it waited for. It is repeated.",
			CheckNotStarted:
				"Kubernetes refused the check's Job or Secret; the message has its words. It is repeated.",
			UnsupportedType:
				"This version does not load into destinations of this type.",
			VolumeClaimRequired:
				"A DuckDB destination needs `spec.duckDB.volumeClaimName`: the volume its file is on.",
		},
	},
} as const satisfies Record<string, Record<string, Record<string, string>>>;

type Reasons = typeof reasons;

/** The reasons that a kind's condition type can have, so that a decide can't name one that isn't in the table. */
export type Reason<
	Kind extends keyof Reasons,
	Type extends keyof Reasons[Kind] = "Ready" & keyof Reasons[Kind],
> = keyof Reasons[Kind][Type] & string;
