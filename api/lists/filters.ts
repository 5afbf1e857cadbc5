import { isDnsLabel } from "../caller/account.ts";
import { invalidParameter } from "../http/errors.ts";
import type { ApiRequest } from "../http/endpoint.ts";

/** A query parameter that limits a list to the objects with this value in a field. */
export interface Filter {
	/** One of the CRD's `selectableFields`. */
	field: string;
	/** The allowed values; undefined for a filter by name. */
	values?: readonly string[];
}

export interface Selectors {
	fieldSelector?: string;
	labelSelector?: string;
}

/** Limits any list to the objects with these labels. */
export const labelSelector = "labelSelector";

/** What the apiserver has to select. Throws a 400 for a value that no object can have. */
export function selectorsOf(
	filters: Record<string, Filter>,
	query: ApiRequest["query"],
): Selectors {
	const fields = Object.entries(filters).flatMap(([name, filter]) => {
		const value = query[name];
		if (value === undefined) return [];
		requireValue(name, filter, value);
		return [`${filter.field}=${value}`];
	});
	const labels = query[labelSelector];
	return {
		...(fields.length > 0 && { fieldSelector: fields.join(",") }),
		...(labels !== undefined && { labelSelector: labels }),
	};
}

/** The value becomes part of a selector, so nothing else may pass. */
function requireValue(name: string, { values }: Filter, value: string): void {
	if (values ? values.includes(value) : isDnsLabel(value)) return;
	const problem = values
		? `must be one of ${values.join(", ")}`
		: `must be the name of a ${name}`;
	throw invalidParameter(name, problem, value);
}
