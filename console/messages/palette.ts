/** The words of the box that Control K opens. */
export const palette = {
	title: "Find or do",
	open: "Find or do…",
	keys: "Ctrl K",
	label: "Name, id or action",
	help: "↑ and ↓ choose, Enter goes there or asks, Escape closes.",
	nothing: "Nothing here has that name.",
	more: (count: number) => `${count} more. Keep typing.`,
	page: "page",
	action: "action",
	kinds: {
		sources: "source",
		destinations: "destination",
		pipelines: "pipeline",
		trackingplans: "tracking plan",
		runs: "run",
	},
	event: (id: string) => `Find the event ${id}`,
	newOf: {
		sources: "New source",
		destinations: "New destination",
		pipelines: "New pipeline",
		trackingplans: "New tracking plan",
		tokens: "New token",
	},
	edit: (name: string) => `Edit ${name}`,
	run: (name: string) => `Run ${name} now`,
	runSays: (name: string) =>
		`Press Enter to start a run of the pipeline ${name} now.`,
	check: (name: string) => `Check ${name} now`,
	checkSays: (name: string) =>
		`Press Enter to check the destination ${name} now.`,
	checks: (name: string) => `The check of ${name} runs.`,
	doIt: "Do it",
};
