import type { SendAgainResult } from "../generated/types.ts";

/** The words of the Sources' pages. */
export const sources = {
	title: "Sources",
	newSource: "New source",
	name: "Name",
	status: "Status",
	url: "Webhook URL",
	copyURL: (name: string) => `Copy the webhook URL of ${name}`,
	lastEvent: "Last event",
	perMinute: "Events a minute",
	rate: (events: number | undefined) =>
		events === undefined
			? "counting…"
			: events < 10
				? events.toLocaleString("en", { maximumFractionDigits: 1 })
				: Math.round(events).toLocaleString("en"),
	daysTitle: "The last 31 days",
	dayCounts: (
		received: number,
		stored: number,
		quarantined: number,
		imported: number,
	) =>
		[
			`${received.toLocaleString("en")} received`,
			`${stored.toLocaleString("en")} stored`,
			quarantined > 0 && `${quarantined.toLocaleString("en")} in quarantine`,
			imported > 0 && `${imported.toLocaleString("en")} imported`,
		]
			.filter(Boolean)
			.join(", "),
	short: (count: number) =>
		count.toLocaleString("en", {
			notation: "compact",
			maximumFractionDigits: 1,
		}),
	dayStates: { Loaded: "Loaded", Waiting: "Waits for a run" },
	dayHeld: (count: number) => `${count.toLocaleString("en")} held`,
	events: "Events, 30 days",
	emptyTitle: "No sources yet",
	empty:
		"A source is a URL that accepts webhooks. Create one, give its URL to a provider, and see the events come in.",
	provider: "Provider",
	providerHelp: "Who sends the events. Each one signs in its own way.",
	plain: "Another one, or my own program",
	sourceName: "Source name",
	sourceNameHelp: "Lower-case letters, digits and hyphens.",
	authorization: "Authorization type",
	authorizationHelp: "What a sender presents beside the URL.",
	authorizationTypes: {
		None: "None: the URL is enough",
		CustomToken: "Custom token",
		Signature: "Signature",
		AmazonSNS: "Amazon SNS",
		JWT: "JSON Web Token",
	},
	customToken: "Custom token",
	customTokenHelp:
		"At least 16 characters. Senders present it as Authorization: Bearer, X-Webhook-Token or ?token=. It is kept in a Secret and never shown again.",
	generate: "Generate a token",
	signingSecret: "Signing secret",
	signingSecretOf: "the secret that the sender signs with",
	signingSecretHelp: (what: string) =>
		`It is ${what}. It is kept in a Secret and never shown again.`,
	scheme: "Signature scheme",
	topics: "Topic ARNs",
	topicsHelp: "The SNS topics that may send, one per line.",
	waiting: "Waiting for the first event…",
	arrived: "The first event has arrived.",
	paste: (where: string) => `Paste the URL here: ${where}.`,
	noURL: "The URL is being created. That takes a second or two.",
	hiddenURL:
		"Anyone who has the URL can send events, so your role doesn't show it.",
	sendTest: "Send test event",
	sent: (id: string) => `The event ${id} is accepted.`,
	notSent: (why: string) => `The event wasn't accepted: ${why}`,
	testRow: (tables: readonly string[]) =>
		tables.length === 0
			? "A test event is stored. No pipeline loads it yet; one that you make later does."
			: `A test event becomes a row of ${tables.join(" and of ")}, unless a filter or a tracking plan keeps it out.`,
	testRowSomewhere: "A test event becomes a row of this source's tables.",
	tableOf: (table: string | undefined, pipeline: string) =>
		table ? `${table} (pipeline ${pipeline})` : `the pipeline ${pipeline}`,
	suspend: "Suspend",
	suspendTitle: (name: string) => `Suspend ${name}?`,
	lastHour: (count: string) => `In the last hour ${count} came.`,
	lastHourCounts: (count: number, isAll: boolean) =>
		count === 1
			? "1 event"
			: `${isAll ? "" : "more than "}${count.toLocaleString("en")} events`,
	suspendLoss:
		"From now on senders get 403, and nothing that they send is kept. Some send it again for hours or days; others give up, or switch the webhook off, which only they can switch on again.",
	resume: "Resume",
	suspendedNow: "The source refuses events until it is resumed.",
	rotate: "New URL",
	rotateTitle: (name: string) => `A new URL for ${name}?`,
	rotateLoss:
		"The current URL stops working. Whoever sends to it is refused until they have the new one.",
	rotated: "The source has a new URL.",
	rotating: "The new URL is being created. That takes a second or two.",
	edit: "Edit",
	editTitle: (name: string) => `Edit ${name}`,
	displayName: "Display name",
	keptSecret:
		"The source has one. Leave this empty to keep it: it is never shown.",
	pipelines: "Pipelines that load it",
	noPipelines: "No pipeline loads its events into a table yet.",
	plan: "Tracking plan",
	counts: (accepted: string, archived: string, quarantined: string) =>
		`${accepted} accepted, ${archived} stored, ${quarantined} in quarantine, in 30 days`,
	loss: "The events that it has stored go with it, and its URL never works again. Tables keep their rows.",
	eventTable: "Events",
	refusedTable: "Requests",
	eventsTitle: "Stored events",
	liveTitle: "Live",
	refusedTitle: "Refused requests",
	noEvents: "No events",
	noEventsHelp:
		"No event matches. One that is accepted is here a few seconds later: press Show the newest.",
	type: "Type",
	anyType: "Any type",
	state: "State",
	states: {
		"": "Any state",
		accepted: "Accepted",
		quarantined: "Quarantined",
		released: "Released",
		imported: "Imported",
	},
	from: "From",
	to: "To",
	event: "Event",
	time: "Received",
	size: "Size",
	bytes: (count: number) => `${count.toLocaleString("en")} B`,
	more: "Show older events",
	reload: "Show the newest",
	pause: "Pause",
	goOn: "Go on",
	follow: "Follow new events",
	connecting: "Connecting. Events that come now may be missed.",
	following: "New events show here as they come.",
	followsAgain:
		"No new events show until the API allows it again. This page asks again by itself.",
	paused: (count: number) =>
		count === 1
			? "1 event came meanwhile."
			: `${count.toLocaleString("en")} events came meanwhile.`,
	leftOut: (count: string) =>
		`This is a sample: ${count} events came too fast to be shown.`,
	match: "Find in all stored events",
	searched: (found: number, goesOn: boolean, from: string) =>
		`${found} found${goesOn ? " so far" : ""}${from === "" ? " in the last 24 hours" : ""}.`,
	searchedTo: "Looked back to",
	text: "Text in the body",
	textFound: (found: number, read: number, shown: number) =>
		`${found} of the ${shown} events shown here${
			read < shown ? ` (${read} looked into so far)` : ""
		}`,
	body: "Body",
	headers: "Headers",
	query: "Query parameters",
	violations: "Deviates from its tracking plan",
	loads: "Where it is",
	notLoaded: "No pipeline loads it.",
	stage: {
		Buffer: "received, and stored within a minute",
		Bucket: "stored",
	},
	waitsForPipeline: "Waits until the pipeline's error is corrected",
	loadStates: {
		Loaded: "Loaded",
		Waiting: "The next run loads it",
		Held: "In quarantine",
		Excluded: "Its date isn't loaded",
	},
	copyCurl: "Copy as curl",
	copyReplay: "Copy replay command",
	sendAgain: { New: "Send again", Repeat: "Send again as a repeat" },
	sendAgainHelp: {
		New: "As another event of this source, which names this one. What isn't kept of this one isn't sent: other headers and parameters, the signature and the sender's address.",
		Repeat:
			"Under its sender's key: the source then has one event, unless the key's time is over or the key isn't kept.",
	},
	sentAgain: ({ eventId, became, sent }: SendAgainResult) =>
		became === "Repeat"
			? `The source has it already, as event ${eventId}. Nothing was stored.`
			: `The event ${eventId} is accepted. It has the body${[...sent.headerNames, ...sent.parameterNames].map((name) => `, ${name}`).join("")} and the id of the first.`,
	close: "Close",
	noBodies: "Your role doesn't show bodies.",
	noRefused: "No request was refused",
	noRefusedHelp: "The last 50 refused requests are kept for some hours.",
	refusedCount: (count: number) => `and ${count} more like it`,
	why: "Why",
	code: "Answer",
	sender: "Sender",
};
