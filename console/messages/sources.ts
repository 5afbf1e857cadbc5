/** The words of the Sources' pages. */
export const sources = {
	title: "Sources",
	newSource: "New source",
	name: "Name",
	status: "Status",
	url: "Webhook URL",
	lastEvent: "Last event",
	emptyTitle: "No sources yet",
	empty:
		"A source is a URL that accepts webhooks. Create one, give its URL to a provider, and see the events come in.",
};
