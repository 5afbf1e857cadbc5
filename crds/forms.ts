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

export const pipelineForm = {
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
