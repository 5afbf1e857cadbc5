import {
	readResourceSchemas,
	type Schema,
} from "../../crds/resource-schema.ts";
import { isObject, type JsonObject } from "../http/endpoint.ts";
import {
	type ErrorDetail,
	flatPath,
	invalidFields,
	maxDetails,
} from "../http/errors.ts";
import { fieldOf, unknownField } from "../http/refused-fields.ts";

/** More than the bounds of any CRD allow together. The apiserver takes minutes to list hundreds of thousands of errors. */
export const maxValues = 20_000;

/** Throws a 400 if a spec has more values than any may have. Schemas of tracking plans don't count. */
export function requireBounded(
	kind: string,
	noun: string,
	spec: JsonObject,
): void {
	let left = maxValues;
	let widest = { count: 0, path: "spec" };
	const open = [{ value: spec as unknown, schema: specOf(kind), path: "spec" }];
	for (let next = open.pop(); next && left >= 0; next = open.pop()) {
		const { value, path } = next;
		if (typeof value !== "object" || value === null) continue;
		const count = Object.keys(value).length;
		if (count > widest.count) widest = { count, path };
		left -= count;
		if (left < 0) break;
		for (const [step, member] of stepsOf(value)) {
			const schema = fieldOf(next.schema, step);
			if (schema)
				open.push({ value: member, schema, path: joined(path, step) });
		}
	}
	if (left < 0)
		throw invalidFields(noun, [
			{
				path: flatPath(widest.path),
				message: `has ${widest.count} members: more than any ${noun} may have`,
			},
		]);
}

/**
 * What is null and must not be, since the apiserver takes null for a field that isn't there: in a whole body any field, and in a
 * patch an unknown one, which would be gone once it is merged. No more than an answer tells, and one.
 */
export function nullErrors(
	kind: string,
	body: JsonObject,
	isPatch: boolean,
	beside: readonly string[] = [],
): ErrorDetail[] {
	const { schema } = readResourceSchemas().find((crd) => crd.kind === kind)!;
	function* within(
		parent: Schema,
		value: unknown,
		path: string,
		isPatch: boolean,
	): Generator<ErrorDetail, void> {
		// A patch replaces whole lists, so their items are complete.
		const isPart = isPatch && !Array.isArray(value);
		for (const [step, member] of stepsOf(value)) {
			const field = fieldOf(parent, step);
			const at = joined(path, step);
			if (member !== null) {
				if (field) yield* within(field, member, at, isPart);
			} else if (field) {
				if (!isPart) yield { path: flatPath(at), message: notNull };
			} else if (isPart && parent.properties)
				yield unknownField(at, schema, beside);
		}
	}
	return [...within(specOf(kind), body, "spec", isPatch).take(maxDetails + 1)];
}

const notNull = "must not be null: leave it out";

function specOf(kind: string): Schema {
	return readResourceSchemas().find((crd) => crd.kind === kind)!.schema
		.properties!.spec!;
}

/** The members of an object by name, and the items of a list by index in brackets. */
function stepsOf(value: unknown): [step: string, member: unknown][] {
	if (Array.isArray(value))
		return value.map((item, index) => [`[${index}]`, item]);
	return isObject(value) ? Object.entries(value) : [];
}

function joined(path: string, step: string): string {
	return step.startsWith("[") ? path + step : `${path}.${step}`;
}
