/** The words of the Pipelines' pages. */
export const pipelines = {
	title: "Pipelines",
	newPipeline: "New pipeline",
	name: "Name",
	status: "Status",
	source: "Source",
	destination: "Destination",
	table: "Table",
	lastRun: "Last run",
	nextRun: "Next run",
	rows: "Rows",
	none: "none",
	emptyTitle: "No pipelines yet",
	empty:
		"A pipeline loads the events of one source into one table of one destination, on a schedule or when you say so.",

	what: "What is loaded",
	integrationName: "Integration name",
	integrationHelp: "What you call it. The resource's name follows from it.",
	resourceName: "Resource name",
	resourceHelp: "For kubectl and the API. It can't change later.",
	choose: "Choose one",
	eventTypes: "Event types",
	eventTypesHelp: "One per line. Empty: all events.",
	matchPointer: "Pointer to a value that events must have",
	matchPointerHelp:
		"A JSON Pointer into the body, such as /order/status. Empty, with no value: all events.",
	matchEquals: "The value that they must have",
	matchEqualsHelp:
		"Exactly as it is; a number or a boolean as the body writes it. Empty, with a pointer: an empty text.",
	typePlaces: {
		"filter.eventType": {
			where: "Where the filter finds the type",
			otherwise: "where the source's tracking plan finds it",
			bodyPointer: "Pointer to the type, for the filter",
			header: "Header with the type, for the filter",
		},
		"table.eventType": {
			where: "Where the tables find the type",
			otherwise: "where the filter or the source's tracking plan finds it",
			bodyPointer: "Pointer to the type, for the tables",
			header: "Header with the type, for the tables",
		},
	},
	typeInBody: "in the body",
	typeInHeader: "in a header",
	typePointerHelp: "A JSON Pointer into the body, such as /type.",
	typeHeaderHelp: (captured: readonly string[]) =>
		captured.length > 0
			? `In lower case. The source captures ${captured.join(", ")}.`
			: "In lower case, such as x-github-event. The source must capture it (capturedHeaders in its YAML).",
	perEventType: "A table for each event type",
	perEventTypeHelp: (table: string) =>
		`A type's table is called ${table}_<type>. The pipeline's page has the names after the first run.`,
	/** Why one field can't be set beside another. */
	clashes: {
		ofOneTable: "Not with a table for each event type.",
		evolving: "Not with a column for each new member.",
		latest: "Not with a view of the latest rows.",
		unordered:
			"It needs the columns Event ID and Timestamp, by which the latest row is known.",
		wholeTable:
			"Not for a table that refuses queries without a date (requirePartitionFilter): the view reads all days.",
	},
	tableName: "Table name",
	tableHelp: (generated: string) =>
		generated === ""
			? "Leave it empty to have one made of the resource's name."
			: `Leave it empty for ${generated}, which is made of the resource's name.`,
	longTableName:
		"must have at most 40 characters with a table for each event type, because the tables' names begin with it",
	otherWarehouse: (type: string) =>
		`The destination is of type ${type}. Choose "not set", or another destination.`,
	columns: "Columns",
	columnsHelp: "What Tidemill knows of every event.",
	columnNames: {
		EventID: "Event ID",
		Timestamp: "Timestamp",
		Body: "Body",
		Date: "Date",
		Violations: "Violations",
		LoadedAt: "Loaded at",
		Run: "Run",
	},
	columnHelp: {
		EventID: "event_id: the event's ID, which the sender got in the answer.",
		Timestamp: "timestamp: when the event came.",
		Body: "body: what was sent, byte for byte.",
		Date: "date: the UTC date on which it came. Runs replace single days by it.",
		Violations: "violations: what the source's tracking plan found, as JSON.",
		LoadedAt: "loaded_at: when the load that wrote the row began.",
		Run: "run: the run that wrote the row.",
	},
	bodyColumns: "Columns from the body",
	bodyColumnsHelp:
		"Values of the body as columns of their own. A value that doesn't fit the type is NULL, and the run counts it.",
	evolve: "A column for each new member",
	evolveHelp:
		"Members of bodies that no column here has get one by themselves, and a last column _rescued has what no column holds. The pipeline's page lists them after each run, where you can freeze them.",
	suggestions: "In recent events",
	suggestionsHelp: (events: number) =>
		`What the last ${events} events have. Tick what the table gets.`,
	noSuggestions: "Recent events have no body with properties.",
	noBodies:
		"You may not see bodies of events, so nothing is suggested. Add columns by hand.",
	addColumn: "Add a column",
	columnName: "Column name",
	bodyPointer: "Pointer into the body",
	columnType: "Type",
	typeOfPlan: "as the tracking plan says",
	/** The same in the head of a table. */
	asPlanned: "as planned",
	precision: "Digits",
	scale: "After the point",
	format: "Format",
	formatZone: "Time zone of the values",
	removeColumn: (name: string) => `Remove the column ${name}`,
	latest: "The latest row of each object",
	latestHelp: (view: string) =>
		`For senders that repeat an object whenever it changes. Tick what tells which object an event is about, such as an order's id: a view ${view} then has its latest row. Nothing ticked: no view.`,
	noKeys: "Add columns from the body first: the key is made of them.",
	keysToCome: "Columns that events bring can be ticked after the first run.",
	noColumn: "The form knows no column of this name.",
	noKey: "A column of this type can't be a key.",
	existing: "If the table is there already",
	strategyTitle: "Strategy",
	strategy: {
		Incremental:
			"Date is ticked, so each run replaces only the days that it loads (incremental). Days outside the dates below stay in the table.",
		FullReload:
			"Date isn't ticked, so each run replaces the whole table (full reload). Tick Date to load single days.",
	},
	previewTitle: "Preview",
	previewHelp: "The latest events of the source, as the table would have them.",
	previewFiltered:
		"The latest events of the source, as the table would have them, if the filter takes them.",
	previewEvolving: (isFirst: boolean) =>
		isFirst
			? "Columns that events bring come with the first run."
			: "New members get their columns with the run that finds them.",
	previewEmpty: "The source has no events yet.",
	previewNoSource: "Choose a source to see its latest events here.",
	refreshPreview: "Refresh the preview",
	nullValue: "NULL",
	unfit: "doesn't fit",

	dates: "Which dates",
	schedule: "When it runs",
	scheduleType: "Schedule type",
	scheduleTypes: {
		Manual: "Manual: only when somebody starts a run",
		Daily: "Daily",
		Interval: "Interval",
		Cron: "Cron",
	},
	cron: "Cron expression",
	cronHelp: "Minute, hour, day of month, month, day of week.",
	inWords: (words: string) => `In words: ${words}.`,
	timeZone: "Time zone",
	timeZoneHelp: "An IANA name, such as Europe/Berlin. Empty: UTC.",
	told: "What is told",
	toldTypes: {
		RunFailed: "A run failed",
		RunRecovered: "A run succeeded after one that failed or was late",
		RunLate: "A run is late",
		ValuesUnfit: "Values don't fit their columns",
		ValuesRecovered: "Values fit their columns again",
	},
	nextRuns: "The next five runs",
	shownIn: "Shown in",
	noRuns: "None: it runs when somebody starts a run.",
	suspended: "None: the schedule is suspended.",
	dateEndProblem: "must be Today or a date, such as 2026-12-31",
	nameProblem:
		"must have lower-case letters, digits and dashes, and at most 40 characters",
	edit: "Edit",
	editTitle: (name: string) => `Edit ${name}`,
	runNow: "Run now",
	runOther: "Run other dates…",
	runOtherTitle: (name: string) => `Run ${name}`,
	whole: "Load the whole window again",
	only: "Load only these UTC dates",
	from: "From",
	to: "To",
	startRun: "Start run",
	startWhenReady: "Start it as soon as the pipeline can run",
	started: (run: string) => `The run ${run} has started.`,
	nextLoads: "A run now loads",
	datesFromTo: (start: string, end: string) =>
		start === end ? start : `${start} to ${end}`,
	nothingToLoad: "no date",
	strategyWord: { Incremental: "Incremental", FullReload: "Full reload" },
	latestView: "Latest rows",
	followed: "Columns that events have brought",
	followedTable: "Each column and the member that it holds",
	followedNone:
		"They are known after the first run: each member of the bodies gets one.",
	copyFollowed: "Copy as YAML",
	freeze: "Freeze these columns",
	frozen:
		"The columns that events have brought are filled in, and no more are to come. Save to keep it so.",
	frozenWhole:
		"Without Date the table must be made anew for that: choose Rebuild below for a table that doesn't fit the columns.",
	typeTables: "Tables of event types",
	typeTablesTable: "Each table and the type of its events",
	typeTablesNone: "They are known after the first run.",
	eventType: "Event type",
	otherTypes: "all others",
	runs: "Runs",
	allRuns: "All runs of this pipeline",
	noRunsYet: "It hasn't run yet.",
	deleteLoss: (table: string) =>
		`Its schedule ends, and its runs and their logs are deleted with it. The table ${table} and its rows stay in the warehouse.`,
	deleting: (name: string) => `${name} is being deleted.`,
};

/** The words of schedules. */
export const schedules = {
	/** By which dates are written and lists are joined. */
	locale: "en-GB",
	updateTimeForm: 'must be a time of day, such as "06:30"',
	intervalForm: "must be between 1m and 24h, such as 1h30m",
	cronFault: (reason: string, form: string) => `${reason}; it ${form}`,
	/** A cron expression, of the parts that follow. */
	cron: (time: string, day: string, months: string | undefined) =>
		`${time}, ${day}${months === undefined ? "" : ` in ${months}`}`,
	everyMinute: "every minute",
	everyMinutes: (step: number) => `every ${step} minutes`,
	everyHour: (minutes: string) => `every hour at ${minutes}`,
	everyHours: (step: number, minute: string) =>
		`every ${step} hours at ${minute}`,
	within: (what: string, hours: string) => `${what} from ${hours}`,
	atTimes: (times: string) => `at ${times}`,
	timesADay: (count: number, span: string) =>
		`${count} times a day, from ${span}`,
	span: (first: string, last: string) => `${first} to ${last}`,
	everyDay: "every day",
	daysOfMonth: (days: string) => `on day ${days} of the month`,
	onWeekdays: (days: string) => `on ${days}`,
	eitherDay: (ofMonth: string, ofWeek: string) => `${ofMonth} and ${ofWeek}`,
	weekdays: [
		...["Monday", "Tuesday", "Wednesday", "Thursday"],
		...["Friday", "Saturday", "Sunday"],
	],
	months: [
		...["January", "February", "March", "April", "May", "June", "July"],
		...["August", "September", "October", "November", "December"],
	],
};
