/** The words of what surrounds every page. A translation has the same members. */
export const shell = {
	product: "Tidemill",
	skipToContent: "Skip to content",
	navigation: "Main",
	sources: "Sources",
	destinations: "Destinations",
	pipelines: "Pipelines",
	runs: "Runs",
	trackingPlans: "Tracking plans",
	tokens: "Tokens",
	search: "Search",
	namespace: "Namespace",
	signOut: "Sign out",
	signedInAs: (user: string) => `Signed in as ${user}`,
	theme: "Theme",
	themeAuto: "As the system",
	themeLight: "Light",
	themeDark: "Dark",
	loading: "Loading…",
	away: "The API doesn't answer. This page tries again by itself.",
	retry: "Try again",
	connectionLost:
		"Connection lost. What you see may be out of date; this page reconnects by itself.",
	notLive: (lists: string) =>
		`Your role may list ${lists}, but not watch them: what you see of them here is at most a minute old.`,
	outdated:
		"Tidemill was upgraded: the server has a newer version of this page.",
	reload: "Reload",
	notFoundTitle: "Page not found",
	notFound: (path: string) => `The console has no page at “${path}”.`,
	toSources: "Go to the sources",
	noRightTitle: "No access",
	noRight: (what: string, namespace: string) =>
		`You may not see ${what} in the namespace “${namespace}”. Ask an administrator to bind a role such as tidemill-viewer.`,
	otherNamespace: (own: string, other: string) =>
		`Your token is of the namespace “${own}”, and shows nothing of “${other}”.`,
	toNamespace: (own: string) => `Go to ${own}`,
	pageBroken: "This page failed",
	leaveTitle: "Leave without saving?",
	leaveText:
		"The form has changes that aren't saved. They are lost if you leave.",
	leave: "Leave",
	stay: "Stay",
};
