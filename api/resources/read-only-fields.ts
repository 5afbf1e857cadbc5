import { isDeepStrictEqual } from "node:util";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import type { ErrorDetail } from "../http/errors.ts";
import type { JsonObject } from "../http/endpoint.ts";
import { shownName } from "./views.ts";

/** What a view has beside a resource's spec, status and name. */
const head = ["id", "createTime", "updateTime", "managedBy", "generation"];

/** By kind, the fields of a view that only Tidemill and Kubernetes set. */
const readOnlyFields = new Map(
	readResourceSchemas().map(({ kind, schema }) => {
		const { spec, status } = schema.properties!;
		const found = Object.keys(status!.properties!)
			.map(shownName)
			.filter((name) => name !== undefined);
		const written = new Set(Object.keys(spec!.properties!));
		return [kind, new Set([...head, ...found]).difference(written)];
	}),
);

/** Whether a body has fields that only Tidemill and Kubernetes set. */
export function hasReadOnly(kind: string, body: JsonObject): boolean {
	const names = readOnlyFields.get(kind)!;
	return Object.keys(body).some((name) => names.has(name));
}

/**
 * A body without its read-only fields, so that what a GET answered can be edited and sent back. One that the caller changed
 * is an error. In a body of an earlier version, the operator may have changed them since that GET.
 * @param current The resource's current view; of a new resource, undefined.
 */
export function withoutReadOnly(
	kind: string,
	body: JsonObject,
	current: JsonObject | undefined,
): { fields: JsonObject; errors: ErrorDetail[] } {
	const names = readOnlyFields.get(kind)!;
	const isOlder =
		current &&
		versions.some((name) => body[name] && body[name] !== current[name]);
	const [fields, readOnly] = [true, false].map((isWritable) =>
		Object.entries(body).filter(([name]) => names.has(name) !== isWritable),
	);
	const errors = readOnly!
		.filter(
			([name, value]) =>
				!isOlder &&
				!(current && isDeepStrictEqual(value ?? undefined, current[name])),
		)
		.map(([path]) => ({ path, message: problem }));
	return { fields: Object.fromEntries(fields!), errors };
}

/** Times have whole seconds, so that two changes may share one. */
const versions = ["updateTime", "generation"];

const problem = "is read-only: omit it, or send it as GET answers it";
