/** The words of what all forms of resources have alike. */
export const forms = {
	create: "Create",
	save: "Save",
	saving: "Saving…",
	saved: (name: string) => `${name} is saved.`,
	created: (name: string) => `${name} is created.`,
	discard: "Discard changes",
	notSet: "not set",
	yaml: "YAML",
	yamlOf: (kind: string) => `YAML of this ${kind}`,
	yamlHelp:
		"The form as a manifest for kubectl apply or a repository. Change it here, or paste another one: the form follows.",
	yamlReadOnly: "The resource as a manifest.",
	copyYaml: "Copy YAML",
	renamed: (name: string) =>
		`metadata.name must stay ${name}: a resource can't be renamed.`,
	line: (line: number) => `Line ${line}`,
	yamlProblems: "The form can't show this YAML:",
	noRight: "You may see this, but not change it.",
	conflictTitle: "Somebody else changed this",
	conflictText: (name: string) =>
		`${name} was changed elsewhere while you edited it. Nothing is saved yet. For each field that both of you changed, choose a value.`,
	conflictMine: "Yours",
	conflictTheirs: "Theirs",
	keepMine: (path: string) => `Keep yours for ${path}`,
	takeTheirs: (path: string) => `Take theirs for ${path}`,
	fromOneSide: "only one side changed it",
	saveMerged: "Save both changes",
	discardMine: "Discard mine",
	backToForm: "Back to the form",
	conditions: "State",
};
