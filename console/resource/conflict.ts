import { type Draft, isObject, type PlainObject } from "./draft.ts";

/** A field that differs between what the form began with, what it has, and what the server has now. undefined is "not set". */
export interface FieldConflict {
	path: string;
	before: unknown;
	mine: unknown;
	theirs: unknown;
	/** Both changed it, and to different values: a person must choose. */
	isDisputed: boolean;
}

/** The fields that either side changed, in the order of the form. Lists count as one value. */
export function conflictsOf(
	before: Draft,
	mine: Draft,
	theirs: Draft,
): FieldConflict[] {
	const [a, b, c] = [before, mine, theirs].map(flat) as [Flat, Flat, Flat];
	const paths = new Set([...b.keys(), ...c.keys(), ...a.keys()]);
	return [...paths].flatMap((path) => {
		const [old, own, other] = [a.get(path), b.get(path), c.get(path)];
		const isMine = !isSame(old, own);
		const isTheirs = !isSame(old, other);
		if (!isMine && !isTheirs) return [];
		return [
			{
				path,
				before: old,
				mine: own,
				theirs: other,
				isDisputed: isMine && isTheirs && !isSame(own, other),
			},
		];
	});
}

/** What the server has now, with the changes of the form on top. A disputed field is the form's, unless `takeTheirs` names it. */
export function mergedDraft(
	before: Draft,
	mine: Draft,
	theirs: Draft,
	takeTheirs: ReadonlySet<string> = new Set(),
): Draft {
	const merged = flat(theirs);
	for (const { path, mine: own, before: old } of conflictsOf(
		before,
		mine,
		theirs,
	)) {
		if (isSame(own, old) || takeTheirs.has(path)) continue;
		if (own === undefined) merged.delete(path);
		else merged.set(path, own);
	}
	return unflat(mine.name, merged);
}

export function isSame(a: unknown, b: unknown): boolean {
	if (Object.is(a, b)) return true;
	if (Array.isArray(a) && Array.isArray(b))
		return a.length === b.length && a.every((one, at) => isSame(one, b[at]));
	if (!isObject(a) || !isObject(b)) return false;
	const keys = Object.keys(a);
	return (
		keys.length === Object.keys(b).length &&
		keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
	);
}

/** By path. A member's name may have dots, so the steps are joined by what no field of a spec has. */
type Flat = Map<string, unknown>;
const joint = " › ";

function flat({ labels = {}, spec }: Draft): Flat {
	const found: Flat = new Map();
	const walk = (value: unknown, path: string) => {
		if (isObject(value) && Object.keys(value).length > 0)
			for (const [key, inner] of Object.entries(value))
				walk(inner, path === "" ? key : `${path}${joint}${key}`);
		else found.set(path, value);
	};
	for (const [key, value] of Object.entries(spec)) walk(value, key);
	for (const [key, value] of Object.entries(labels))
		found.set(`labels${joint}${key}`, value);
	return found;
}

function unflat(name: string, fields: Flat): Draft {
	// Maps: a member may be called __proto__.
	const root: Tree = new Map();
	for (const [path, value] of fields) {
		const steps = path.split(joint);
		let at = root;
		for (const step of steps.slice(0, -1)) {
			const inner = at.get(step);
			if (inner instanceof Map) at = inner;
			else {
				const made: Tree = new Map();
				at.set(step, made);
				at = made;
			}
		}
		at.set(steps.at(-1)!, value);
	}
	const { labels, ...spec } = objectOf(root);
	return {
		name,
		...(isObject(labels) && { labels: labels as Record<string, string> }),
		spec,
	};
}

type Tree = Map<string, unknown>;

function objectOf(tree: Tree): PlainObject {
	return Object.fromEntries(
		[...tree].map(([key, value]) => [
			key,
			value instanceof Map ? objectOf(value) : value,
		]),
	);
}
