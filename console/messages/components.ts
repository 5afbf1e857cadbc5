/** The words of the components that every page uses. */
export const components = {
	copy: "Copy",
	copied: "Copied",
	copyFailed: "The browser didn't let the page copy. Select the text instead.",
	cancel: "Cancel",
	delete: "Delete",
	deleteNamed: (name: string) => `Delete ${name}?`,
	typeName: (name: string) => `Type ${name} to confirm`,
	hiddenCharacters: (text: string) =>
		`The text has hidden characters, which are shown here as codes: ${text}`,
	showMore: (count: number) => `Show ${count} more`,
	find: "Find in the list",
	foundOf: (found: number, all: number) => `${found} of ${all}`,
	showAll: "Show all of it",
	cutOff: (shown: string) => `These are the first ${shown} characters.`,
	notYet: "not yet",
	problemTitle: "That didn't work",
	requestId: "Request",
	tryAgain: "Try again",
	triesItself: "This page tries again by itself.",
	managedBy: (tool: string) =>
		`${tool} manages this resource and would undo changes made here. Change it in its repository.`,
	loading: "Loading…",
	dismiss: "Dismiss",
	undo: "Undo",
};
