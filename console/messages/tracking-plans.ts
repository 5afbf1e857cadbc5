/** The words of the tracking plans' pages. */
export const trackingPlans = {
	title: "Tracking plans",
	newPlan: "New tracking plan",
	name: "Name",
	status: "Ready",
	eventTypes: "Event types",
	version: "Version",
	usedBy: "Sources",
	emptyTitle: "No tracking plans yet",
	empty:
		"A tracking plan says what a source's events should look like, and what happens to those that differ.",
	ready: "Ready",
	planName: "Plan name",
	planNameHelp: "For kubectl and the API. It can't change later.",
	displayName: "Display name",
	typeAt: "Where an event's type is",
	typeKinds: {
		bodyPointer: "In the body",
		header: "In a header",
		constant: "All events are of one type",
	},
	bodyPointer: "Pointer into the body",
	bodyPointerHelp: "Such as /type or /event/name.",
	header: "Header",
	headerHelp: "In lower case, such as x-github-event.",
	constant: "Type of all events",
	policies: "What happens to events that differ",
	schemas: "Event types and schemas",
	schemasHelp:
		"Write the schemas here, in YAML. Ctrl-Space completes; what is wrong is marked at its line.",
	checking: "Checking…",
	checked: "The API accepts this plan.",

	draftTitle: "Draft from recent events",
	draftHelp:
		"Infers event types and schemas from the stored events of a source. It replaces the event types below; policies stay.",
	source: "Source",
	chooseSource: "Choose one",
	makeDraft: "Draft the plan",
	drafted: (events: number, types: number) =>
		`Drafted from ${events} events of ${types} types. Look at it, then save.`,
	draftUnreadable: "The draft can't be read as a plan.",

	tryTitle: "Try it on history",
	tryHelp:
		"Validates stored events by the plan as it is in this form, and says what it would have done. Nothing changes.",
	days: "Days",
	daysHelp: "How many days until today, 1 to 30.",
	tryPlan: "Try the plan",
	working: (status: string) => `${status}…`,
	stop: "Stop",
	stopped: "It was stopped.",
	validated: "Validated",
	planned: "As planned",
	annotated: "Annotated",
	quarantined: "Quarantined",
	rejected: "Rejected",
	nothingBlocked: "The plan would have refused and quarantined nothing.",
	blocked: (quarantined: string, rejected: string) =>
		`The plan would have quarantined ${quarantined} and rejected ${rejected} events.`,
	findings: "What differs",
	events: "Events",
	type: "Type",
	noType: "no type",
	kind: "Kind",
	path: "Path",
	problem: "Problem",
	example: "Example event",
	otherFindings: (count: number) => `and ${count} more`,

	sourcesTitle: "Sources with this plan",
	noSources: "No source uses it yet.",
	setFor: "Use it for the source",
	set: "Set the plan",
	setDone: (source: string, plan: string) =>
		`${source} is validated by ${plan} now.`,
	remove: "Stop using it",
	removeFrom: (source: string) => `Stop using it for ${source}`,
	removed: (source: string) => `${source} has no plan any more.`,
	replaces: (plan: string) => `It replaces the plan ${plan}.`,
	managedSource: (source: string, tool: string) =>
		`${tool} manages ${source}, so its plan is set in its repository.`,

	violations: "Violations by kind",
	violationsHelp: "Of the last 30 days, in the sources with this plan.",
	noViolations: "No event of these sources differs from a plan.",
	lastEvent: "Last event",
	others: "others",

	quarantine: "Quarantine",
	quarantineHelp:
		"Events that are stored apart and loaded into no table. A released event becomes a row of its date with the next run.",
	heldEvents: "Events in quarantine",
	show: "Show events in quarantine",
	inQuarantine: (count: string) =>
		count === "1"
			? "1 event is in quarantine."
			: `${count} events are in quarantine.`,
	emptyQuarantine: "No event is in quarantine.",
	time: "Came",
	event: "Event",
	wrong: "What is wrong",
	moreWrong: (count: number) => `and ${count} more`,
	release: "Release",
	releaseOne: (event: string) => `Release the event ${event}`,
	releaseAll: "Release all…",
	releaseTitle: (count: string) =>
		count === "1" ? "Release 1 event?" : `Release ${count} events?`,
	releaseText: (source: string) =>
		`They become rows of their dates: the next runs of ${source}'s pipelines load them. You can't take it back.`,
	released: (count: string) =>
		count === "1"
			? "1 event is released. The next run loads it."
			: `${count} events are released. The next runs load them.`,
	older: "Show older events",
	failed: (message: string) => `It failed: ${message}`,

	edit: "The plan",
	deleteLoss:
		"Its schemas and policies are deleted. While a source names the plan, the deletion waits: remove it from the source first.",
	deleting: (name: string) => `${name} is being deleted.`,
};
