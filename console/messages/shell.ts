/** The words of what surrounds every page. A translation has the same members. */
export const shell = {
	product: "Tidemill",
	skipToContent: "Skip to content",
	navigation: "Main",
	home: "Home",
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
	noAnswer: "The API doesn't answer.",
	foreignAnswer: (status: number) =>
		`Something between this page and the API answered with HTTP ${status}.`,
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
	noNamespace: (name: string) => `There is no namespace “${name}”.`,
	toSources: "Go to the sources",
	noRightTitle: "No access",
	/** What a page shows, by how its address begins. */
	shown: {
		home: "sources",
		sources: "sources",
		destinations: "destinations",
		pipelines: "pipelines",
		runs: "runs",
		"tracking-plans": "tracking plans",
		tokens: "tokens",
		search: "events",
	} as Record<string, string>,
	noRight: (what: string, namespace: string) =>
		`You may not see ${what} in the namespace “${namespace}”. Ask an administrator to bind a role such as tidemill-viewer.`,
	otherNamespace: (own: string, other: string) =>
		`Your token is of the namespace “${own}”, and shows nothing of “${other}”.`,
	toNamespace: (own: string) => `Go to ${own}`,
	pageBroken: "This page failed",
	missingFile: "A file of this page isn't there. It loads again by itself.",
	stillMissing:
		"A file of this page still isn't there. Reload it later, or tell whoever runs Tidemill.",
	leaveTitle: "Leave without saving?",
	leaveText:
		"This page has what nothing else keeps: changes that aren't saved, or a token that is shown once. It is lost if you leave.",
	leave: "Leave",
	stay: "Stay",
};

/** The words of the sign-in. */
export const signInWords = {
	title: "Sign in",
	token: "Token",
	tokenHelp:
		"A token of Kubernetes, such as `kubectl create token` or `tidemill tokens create` prints.",
	signIn: "Sign in",
	oidc: "Sign in with your organization",
	oidcElsewhere:
		"It opens in another tab. Come back to this one: it has what you wrote.",
	or: "or",
	hasEnded: "Your session has ended. Sign in again to continue where you were.",
	signedOut:
		"You are signed out, and the session is over on the server, too. A token that you pasted goes on until it ends or is revoked, and your organization may remember you.",
	codeInvalid:
		"The code in the link is used or older than 10 minutes. Print another with `tidemill console`.",
	local:
		"On the machine where Tidemill runs, `tidemill console` prints a link that signs you in.",
	needed: "Paste a token.",
};
