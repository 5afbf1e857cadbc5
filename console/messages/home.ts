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
	tones: { bad: "Broken", warning: "Look here", busy: "Begins" },
	sum: (broken: number, doubtful: number, all: number) =>
		broken + doubtful === 0
			? all === 1
				? "It is all right."
				: `All ${all} are all right.`
			: [
					broken > 0 && `${broken} of ${all} broken`,
					doubtful > 0 && `${doubtful} of ${all} to look at`,
				]
					.filter(Boolean)
					.join(", "),

	notReady: (reason: string, message: string) => `${reason}: ${message}`,
	suspendedSource: "Suspended: senders get 403.",
	suspendedPipeline: "Suspended: no run starts by itself.",
	noEvents: "No event has come yet.",
	noPipeline: "No pipeline loads its events.",
	runFailed: (message: string) => `The last run failed: ${message}`,
	late: "The next run should have begun.",
	quarantined: (events: string) => `${events} in quarantine, in 30 days.`,
	unfit: (rows: string) =>
		`${rows} values of the last run didn't fit their columns, and are NULL.`,

	editSource: "Edit the source",
	toSource: "Open the source",
	sendOne: "Send one",
	newPipeline: "New pipeline",
	editDestination: "Edit the destination",
	toDestination: "Open the destination",
	editPipeline: "Edit the pipeline",
	toPipeline: "Open the pipeline",
	toRun: "See the run",
	toQuarantine: "Look at them",

	daysTitle: "The last 31 days",
	daysOf: "Of the source",
	daysHelp:
		"Events by the UTC date on which they came. A bar leads to its events.",
	stored: "stored",
	quarantinedWord: "in quarantine",
	day: (date: string, stored: string, quarantined: string) =>
		`${date}: ${stored} stored, ${quarantined} in quarantine`,
	refusedKept:
		"Refused requests are on the source's page: the newest ones, for as long as receive's processes run.",

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
		"For a DuckDB file it prints the rows. For a server it prints the command of the server's own client.",
};
