/** The words of the home page. */
export const home = {
	title: "Home",
	roadsTitle: "From source to table",
	health: "Health",
	source: "Source",
	pipeline: "Pipeline",
	destination: "Destination",
	lastRun: "Last run",
	nobody: "none",
	well: "All right",
	/** Of a row's worst finding. */
	tones: { bad: "Broken", warning: "Needs a look", busy: "Waiting" },
	sum: (
		{ bad, warning, busy }: Record<"bad" | "warning" | "busy", number>,
		all: number,
	) =>
		bad + warning + busy === 0
			? all === 1
				? "It is all right."
				: `All ${all} are all right.`
			: [
					bad > 0 && `${bad} of ${all} broken`,
					warning > 0 && `${warning} of ${all} need a look`,
					busy > 0 && `${busy} of ${all} waiting`,
				]
					.filter(Boolean)
					.join(", "),

	said: (reason: string, message: string) => `${reason}: ${message}`,
	notSeen: "The operator hasn't looked at it yet.",
	sourceToo: "Its source has trouble, too.",
	suspendedSource: "Suspended: senders get 403.",
	suspendedPipeline: "Suspended: no run starts by itself.",
	noEvents: "No event has come yet.",
	noPipeline: "No pipeline loads its events.",
	quarantined: (events: string) =>
		`Events in quarantine in the last 30 days: ${events}.`,

	editSource: "Edit the source",
	toSource: "Open the source",
	newPipeline: "New pipeline",
	editDestination: "Edit the destination",
	toDestination: "Open the destination",
	editPipeline: "Edit the pipeline",
	toPipeline: "Open the pipeline",
	toRun: "See the run",
	toQuarantine: "Look at them",

	daysTitle: "The last 31 days",
	daysOf: "Source",
	daysHelp:
		"Events by the UTC date on which they came. A bar leads to its events.",
	stored: "stored",
	quarantinedWord: "in quarantine",
	day: (date: string, stored: string, quarantined: string) =>
		`${date}: ${stored} stored, ${quarantined} in quarantine`,
	refusedKept:
		"The source's page has the newest refused requests, which are kept until receive restarts.",

	stepsTitle: "The first five minutes",
	steps: {
		source: "Create a source",
		sent: "Send it an event",
		stored: "See the event stored",
		destination: "Connect a destination",
		loaded: "Load the event with a pipeline",
	},
	done: "done",
	open: "to do",
	queryTitle: "Now ask your table",
	queryHelp:
		"In a shell such as bash or zsh. For a DuckDB file it prints the rows. For a server it prints the command of the server's own client.",
};
