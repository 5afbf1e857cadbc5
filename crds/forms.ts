/*
 * What the console's forms say of fields beside their CRD, by the paths in the spec and in the order in which they are shown. Fields that
 * aren't here have a widget of their own, or stand among all others with their path and their description. Those of a type of warehouse
 * are in its definition.
 */

const policies = {
	Allow: "Allow: nothing happens",
	Annotate: "Annotate: it is stored with a note",
	Omit: "Omit: as Annotate, and tables leave it out",
	Quarantine: "Quarantine: stored apart, loaded into no table",
	Reject: "Reject: the sender gets 400, nothing is stored",
};

const secretRefs = {
	label: "Secrets with webhooks",
	help: 'One name per line, at most 5. Each has the label tidemill.dev/use: "true". Empty: tidemill-notifications, if there is such a Secret.',
};

export const sourceForm = {
	jwt: {
		"webhook.authorization.jwt.jwksURL": {
			label: "URL of the issuer's keys",
			help: "Where the issuer publishes its keys as a JWK Set, such as https://www.googleapis.com/oauth2/v3/certs.",
		},
		"webhook.authorization.jwt.issuer": {
			label: "Issuer",
			help: "What the token's iss must be.",
		},
		"webhook.authorization.jwt.audience": {
			label: "Audience",
			help: "What the token's aud must be, or have in its list.",
		},
	},
	kept: {
		retentionDays: {
			label: "Days kept",
			help: "How long an event stays after its date; 0 for ever. Empty for 30 days.",
		},
	},
	told: {
		"notify.quietAfter": {
			label: "Quiet after",
			help: "How long after its latest event the source is quiet, such as 6h, between 5m and 720h. Empty: nobody is told.",
		},
		"notify.secretRefs": secretRefs,
	},
} as const;

/** A name in braces is that of a table, by the draft's. */
export const pipelineForm = {
	perEventType: {
		"table.maxEventTypes": {
			label: "Most tables of event types",
			help: "1 to 100. Empty: 100. The events of further types are in {others}.",
		},
	},
	quarantine: {
		"table.quarantine": {
			label: "Also load events in quarantine",
			help: "Into a table of their own, {quarantine}, with the same columns and violations.",
			isTick: true,
		},
	},
	rejectedValues: {
		"table.rejectedValues": {
			label: "Keep values that don't fit in a table of their own",
			help: "{table}_rejected: the event, the column, the value as it was sent, and why it doesn't fit.",
			isTick: true,
		},
	},
	existing: {
		"table.onIncompatible": {
			label: "If it doesn't fit the columns",
			help: "The rows of days that the source keeps no more are lost by Rebuild, once columns change.",
			choices: {
				Fail: "Fail: the table stays, and the pipeline isn't ready",
				Rebuild: "Rebuild: it is dropped and created again",
			},
		},
		"table.adopt": {
			label: "Take over a table that isn't this pipeline's",
			help: "One with rows that no run of this pipeline wrote. All rows of each day that runs load are replaced, whoever wrote them; without the column Date, all rows.",
			isTick: true,
		},
	},
	dates: {
		"dateRange.start": {
			label: "Date start",
			help: "The first UTC date. Empty: the date of the first event.",
		},
		"dateRange.end": {
			label: "Date end",
			help: "Today for no end, or the last UTC date, such as 2026-12-31.",
		},
		overwritePeriodDays: {
			label: "Overwrite period",
			help: "How many days before the first incomplete day each run loads again, 0 to 30.",
		},
	},
	Daily: { "schedule.updateTime": { label: "Update time", isTime: true } },
	Interval: {
		"schedule.interval": {
			label: "Interval",
			help: "Between 1m and 24h, such as 15m or 1h30m.",
		},
	},
	suspend: { suspend: { label: "Suspend the schedule", isTick: true } },
	told: {
		"notify.lateAfter": {
			label: "Late after",
			help: "How long after its scheduled time a run that hasn't ended is late, such as 1h30m, at most 168h. Empty: no run is late.",
		},
		"notify.secretRefs": secretRefs,
	},
} as const;

export const planForm = {
	policies: {
		onUnplannedEvent: {
			label: "An event of an unplanned type",
			choices: policies,
		},
		onViolation: {
			label: "An event that violates its schema",
			choices: policies,
		},
		onUnplannedProperty: {
			label: "A property that the schema doesn't define",
			choices: policies,
		},
	},
} as const;
