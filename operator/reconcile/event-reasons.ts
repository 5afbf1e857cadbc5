import type { reasons } from "./reasons.ts";

/**
 * What Events tell beside the reasons of `Ready`, by kind: reason → what happened. An Event is recorded as well when
 * `Ready` comes to another reason, and has that. docs/reference/events.md says the same to people.
 */
export const eventReasons = {
	Source: {
		URLIssued: "The Source got a URL of its own.",
		URLAdopted:
			"The Secret with the keys was there already: the Source has its earlier URL.",
		URLRotated:
			"The annotation `tidemill.dev/rotate-url` has a new value: the Source has another URL.",
		EventsDeleted:
			"The Source is deleted with `spec.deletionPolicy: Delete`: none of its events is stored any more.",
	},
	Destination: {},
	Pipeline: {
		RunDeleted: "The Run that was under way is gone: somebody deleted it.",
		MissSchedule:
			"A time of the schedule is left out: its Run could not start within `spec.startingDeadlineSeconds`. The note says which, and why.",
		RunNameTaken:
			"A Run of another Pipeline has the name of the next scheduled one, which is left out.",
	},
	TrackingPlan: {},
	Run: {
		RunStarted: "The Job was made; the note says which days it loads.",
		JobNotStarted: "Kubernetes refused the Job; the note has its words.",
		RunSucceeded: "The table holds the days of the Run.",
		RunFailed: "The Run failed; the note has the error's code and message.",
		RunCancelled: "The Run was cancelled by `spec.cancel`.",
	},
} as const satisfies Record<keyof typeof reasons, Record<string, string>>;

type Kind = keyof typeof eventReasons;

/** The reasons that an Event about a kind can have. */
export type EventReason<K extends Kind> =
	| (keyof (typeof eventReasons)[K] & string)
	| ReadyReason<(typeof reasons)[K]>;

type ReadyReason<Types> = Types extends { Ready: infer Meanings }
	? keyof Meanings & string
	: never;
