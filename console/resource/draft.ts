import { specFields } from "../../crds/generated/types.ts";

export type PlainObject = Record<string, unknown>;

/** What a form edits: what people set of a resource, with the fields that the form doesn't show. */
export interface Draft {
	name: string;
	labels?: Record<string, string>;
	spec: PlainObject;
}

/** What a form's fields get: the draft, how to change it, and the error of a field by its path. */
export interface FormContext {
	draft: Draft;
	onDraft(draft: Draft): void;
	errorAt(path: string): string | undefined;
	isReadOnly: boolean;
	/** The YAML is none, or not one of this form: the draft isn't what the visitor sees. */
	isUnread: boolean;
}

/** The kinds that have a form, each with its collection in the REST API. */
export const collections = {
	Source: "sources",
	Destination: "destinations",
	Pipeline: "pipelines",
	TrackingPlan: "tracking-plans",
} as const;

export type FormKind = keyof typeof collections;

/** A resource as the REST API shows it: the fields of metadata, spec and status at one level. */
export interface ResourceView extends PlainObject {
	name: string;
	labels?: Record<string, string>;
	managedBy?: string;
}

export function isSpecField(kind: FormKind, field: string): boolean {
	return (specFields[kind] as readonly string[]).includes(field);
}

/** What people set of a resource, without its status. */
export function draftOf(kind: FormKind, view: ResourceView): Draft {
	const { name, labels } = view;
	const spec = Object.entries(view).filter(([field]) =>
		isSpecField(kind, field),
	);
	return {
		name,
		...(labels && Object.keys(labels).length > 0 && { labels }),
		spec: Object.fromEntries(spec),
	};
}

/** The body of `POST` and `PUT`. */
export function bodyOf({ name, labels, spec }: Draft): PlainObject {
	return { name, ...(labels && { labels }), ...spec };
}

export function isObject(value: unknown): value is PlainObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path such as `table.bodyColumns[0].name`; undefined where there is none. */
export function valueAt(value: unknown, path: string): unknown {
	let at = value;
	for (const step of stepsOf(path)) {
		if (typeof step === "number") at = Array.isArray(at) ? at[step] : undefined;
		else at = isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
	}
	return at;
}

/** The text of a field; empty where there is none, and of what is no text. */
export function textAt(spec: object, path: string): string {
	const value = valueAt(spec, path);
	return value === undefined || value === null || typeof value === "object"
		? ""
		: String(value);
}

/**
 * The draft with another value at a path of its spec, in which each step is a member. undefined removes the member, and objects
 * that have nothing left with it.
 */
export function withField(draft: Draft, path: string, value: unknown): Draft {
	const spec = withMember(draft.spec, path.split("."), value) ?? {};
	return { ...draft, spec };
}

function withMember(
	object: unknown,
	[first, ...rest]: string[],
	value: unknown,
): PlainObject | undefined {
	const members = isObject(object) ? object : {};
	const inner =
		rest.length > 0 ? withMember(members[first!], rest, value) : value;
	const { [first!]: _, ...others } = members;
	if (inner === undefined)
		return Object.keys(others).length > 0 ? others : undefined;
	// A member that is there keeps its place, so that the YAML doesn't jump.
	return { ...members, [first!]: inner };
}

/** What somebody typed as a whole number; anything else stays a text, for the API to refuse at its field. */
export function numberOf(text: string): number | string | undefined {
	if (text === "") return undefined;
	return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

/** The steps of a path as the API's error details write it: members are strings, indexes of lists are numbers. */
export function stepsOf(path: string): (string | number)[] {
	const steps = path.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.[\]]+)/g);
	return [...steps].map(([, quoted, index, member]) =>
		index === undefined ? (quoted ?? member!) : Number(index),
	);
}
