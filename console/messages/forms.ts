/** The words of what all forms of resources have alike. */
export const forms = {
	create: "Create",
	save: "Save",
	saving: "Saving…",
	saved: (name: string) => `${name} is saved.`,
	created: (name: string) => `${name} is created.`,
	discard: "Discard changes",
	notSet: "not set",
	otherFields: "All other fields",
	fieldsNotLoaded: "These fields couldn't be loaded. Reload the page.",
	yaml: "YAML",
	yamlOf: (kind: string) => `YAML of this ${kind}`,
	yamlHelp:
		"The form as a manifest for kubectl apply or a repository. Change it here, or paste another one: the form follows.",
	yamlReadOnly: "The resource as a manifest.",
	copyYaml: "Copy YAML",
	renamed: (name: string) =>
		`metadata.name must stay ${name}: a resource can't be renamed.`,
	line: (line: number) => `Line ${line}`,
	yamlProblems:
		"The form can't show this YAML, and its fields wait until it is mended:",
	notSaved: "Nothing is saved.",
	changes: "What Save changes",
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
	notify: "Who is told",
};

/** The words of what is wrong in a manifest. */
export const manifestWords = {
	tooLarge: "The text is larger than 1 MiB. Use kubectl apply.",
	noDocument: (kind: string) => `There is no ${kind} in the text.`,
	manyDocuments: (count: number, ofKind: number, kind: string) =>
		`The text has ${count} documents, and ${ofKind === 0 ? "none" : ofKind} of kind ${kind}. Paste one ${kind}.`,
	noManifest: (kind: string) => `The text is not a manifest of a ${kind}.`,
	mustBe: (field: string, right: string, wrong: string) =>
		`${field} must be ${right}, not ${wrong}.`,
	absent: "absent",
	unknownField: (field: string) => `${field} is not a known field.`,
	unknownSpecField: (field: string) => `spec has no field ${field}.`,
	mapping: (field: string) => `${field} must be a mapping.`,
	mustBeName: (wrong: string) => `metadata.name must be a name, not ${wrong}.`,
	labels:
		"metadata.labels must be a mapping of texts; put numbers and true in quotes.",
	otherNamespace: (other: string, here: string) =>
		`metadata.namespace is ${other}, and this page is of ${here}. Choose the other namespace first, or remove the field.`,
	annotations: "The annotations are left out: the REST API doesn't set any.",
};

/** What the editor says of metadata, and of the keywords of an event's JSON Schema, which no CRD describes. */
export const fieldWords = {
	resourceName: "The resource's name.",
	resourceLabels: "Labels of the resource.",
	type: "The type, or a list of types.",
	properties: "The schema of each property.",
	required: "The names of properties that must be there.",
	items: "The schema of each item.",
	enum: "The values that are allowed.",
	const: "The only value that is allowed.",
	format: "The form of a string.",
	pattern: "A regular expression that a string must match.",
	minimum: "The least number.",
	maximum: "The greatest number.",
	multipleOf: "A number is a multiple of it.",
	minLength: "The least number of characters.",
	maxLength: "The greatest number of characters.",
	minItems: "The least number of items.",
	maxItems: "The greatest number of items.",
	uniqueItems: "No item stands twice.",
	additionalProperties:
		"Whether other properties are allowed, or their schema.",
	allOf: "Schemas that must all match.",
	anyOf: "Schemas of which one must match.",
	oneOf: "Schemas of which exactly one must match.",
	not: "A schema that must not match.",
	$ref: "Another schema of the plan, such as #/$defs/money or common#/$defs/id.",
	$defs: "Schemas to refer to.",
	description: "What it means.",
};
