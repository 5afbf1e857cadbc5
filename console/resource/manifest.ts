// yaml: the program has it for manifests of the CLI. It knows where in the text each value stands.
import {
	type Document,
	isMap,
	isNode,
	isPair,
	isSeq,
	LineCounter,
	parseAllDocuments,
} from "yaml";
import { yamlText } from "../../packages/escapes/yaml.ts";
import { manifestWords as words } from "../messages/forms.ts";
import {
	type Draft,
	type FormKind,
	isObject,
	isSpecField,
	stepsOf,
} from "./draft.ts";

const apiVersion = "tidemill.dev/v1alpha1";

/** What is wrong with a manifest. Lines count from 1. */
export interface ManifestProblem {
	message: string;
	/** A field as the API's error details write it, if the problem is one field's. */
	path?: string;
	line?: number;
}

export type ReadManifest =
	| { draft: Draft; notes: string[] }
	| { problems: ManifestProblem[] };

/** The YAML of a resource, for `kubectl apply` and for a repository. */
export function manifestOf(
	kind: FormKind,
	{ name, labels, spec }: Draft,
	namespace?: string,
): string {
	const metadata = {
		name,
		...(namespace !== undefined && { namespace }),
		...(labels && { labels }),
	};
	return yamlText({ apiVersion, kind, metadata, spec });
}

/** A text of more isn't read: the API takes no larger body. */
const maxCharacters = 1024 ** 2;

/** Reads a manifest that somebody wrote or pasted, in YAML or JSON. Of several documents, it takes the only one of the kind. */
export function readManifest(
	kind: FormKind,
	text: string,
	namespace?: string,
): ReadManifest {
	if (text.length > maxCharacters)
		return {
			problems: [{ message: words.tooLarge }],
		};
	const lines = new LineCounter();
	const documents = parsed(text, lines);
	const faults = documents.flatMap(({ errors }) => errors);
	if (faults.length > 0)
		return {
			problems: faults.slice(0, 20).map(({ message, pos }) => ({
				message: message.split(/ at line \d|\n/)[0]!,
				line: lines.linePos(pos[0]).line,
			})),
		};
	const filled = documents.filter(({ contents }) => contents !== null);
	const ofKind = filled.filter((one) => one.get?.("kind") === kind);
	const document = ofKind.length === 1 ? ofKind[0] : filled[0];
	if (filled.length === 0 || !document)
		return { problems: [{ message: words.noDocument(kind) }] };
	if (filled.length > 1 && ofKind.length !== 1)
		return {
			problems: [
				{
					message: words.manyDocuments(filled.length, ofKind.length, kind),
				},
			],
		};
	let value: unknown;
	try {
		// Aliases that multiply ("billion laughs") throw.
		value = document.toJS({ maxAliasCount: 100 });
	} catch (error) {
		return { problems: [{ message: (error as Error).message }] };
	}
	return checked(kind, value, namespace, (path) =>
		lineOf(document, lines, path),
	);
}

/** The line of the field in the text, or of the innermost field around it that is there; undefined in no YAML. */
export function lineOfField(text: string, path: string): number | undefined {
	const lines = new LineCounter();
	const [document] = parsed(text, lines);
	if (!document || document.errors.length > 0) return undefined;
	const [first, ...rest] = stepsOf(path);
	const isHead = first === "name" || first === "labels";
	return lineOf(document, lines, [
		isHead ? "metadata" : "spec",
		...(first === undefined ? [] : [first, ...rest]),
	]);
}

function parsed(text: string, lineCounter: LineCounter): Document[] {
	const documents = parseAllDocuments(text, { lineCounter, uniqueKeys: true });
	return Array.isArray(documents) ? documents : [];
}

function checked(
	kind: FormKind,
	value: unknown,
	namespace: string | undefined,
	lineAt: (path: (string | number)[]) => number | undefined,
): ReadManifest {
	const problems: ManifestProblem[] = [];
	const notes: string[] = [];
	const problem = (at: string[], message: string, path?: string) => {
		const line = lineAt(at);
		problems.push({
			message,
			...(path !== undefined && { path }),
			...(line !== undefined && { line }),
		});
	};
	if (!isObject(value))
		return {
			problems: [{ message: words.noManifest(kind), line: 1 }],
		};
	if (value.apiVersion !== apiVersion)
		problem(
			["apiVersion"],
			words.mustBe("apiVersion", apiVersion, shown(value.apiVersion)),
		);
	if (value.kind !== kind)
		problem(["kind"], words.mustBe("kind", kind, shown(value.kind)));
	for (const member of Object.keys(value))
		if (!manifestMembers.has(member))
			problem([member], words.unknownField(shown(member)));
	const { metadata = {}, spec = {} } = value;
	if (!isObject(metadata)) problem(["metadata"], words.mapping("metadata"));
	if (!isObject(spec)) problem(["spec"], words.mapping("spec"));
	if (!isObject(metadata) || !isObject(spec)) return { problems };

	const { name, labels } = metadata;
	if (typeof name !== "string" || name === "")
		problem(["metadata", "name"], words.mustBeName(shown(name)), "name");
	if (labels !== undefined && !isTextMap(labels))
		problem(["metadata", "labels"], words.labels, "labels");
	if (
		namespace !== undefined &&
		metadata.namespace !== undefined &&
		metadata.namespace !== namespace
	)
		problem(
			["metadata", "namespace"],
			words.otherNamespace(shown(metadata.namespace), shown(namespace)),
		);
	for (const field of Object.keys(spec))
		if (!isSpecField(kind, field))
			problem(["spec", field], words.unknownSpecField(shown(field)), field);
	if (metadata.annotations !== undefined) notes.push(words.annotations);
	if (problems.length > 0) return { problems };
	const draft: Draft = {
		name: name as string,
		...(isTextMap(labels) && { labels }),
		spec,
	};
	return { draft, notes };
}

const manifestMembers = new Set([
	...["apiVersion", "kind", "metadata", "spec"],
	// As kubectl get -o yaml prints it. It isn't what people set.
	"status",
]);

function isTextMap(value: unknown): value is Record<string, string> {
	return (
		isObject(value) &&
		Object.values(value).every((one) => typeof one === "string")
	);
}

function shown(value: unknown): string {
	if (value === undefined) return words.absent;
	const text = JSON.stringify(value);
	return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function lineOf(
	document: Document,
	lines: LineCounter,
	path: (string | number)[],
): number | undefined {
	let node: unknown = document.contents;
	let offset = isNode(node) ? node.range?.[0] : undefined;
	for (const step of path) {
		if (isMap(node)) {
			const pair = node.items.find(
				(item) => isPair(item) && String(item.key) === String(step),
			);
			if (!pair) break;
			if (isNode(pair.key)) offset = pair.key.range?.[0] ?? offset;
			node = pair.value;
		} else if (isSeq(node) && typeof step === "number") {
			const item = node.items[step];
			if (!isNode(item)) break;
			offset = item.range?.[0] ?? offset;
			node = item;
		} else break;
	}
	return offset === undefined ? undefined : lines.linePos(offset).line;
}
