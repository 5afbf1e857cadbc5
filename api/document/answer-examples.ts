import type { SchemaObject } from "../../crds/json-schema.ts";

/** Values that a field of this name has in every example. Others follow from its schema. */
const ofField: Record<string, unknown> = {
	id: "6f1c2f0e-3f0c-4d5e-9d0a-1a2b3c4d5e6f",
	createTime: "2026-03-01T11:58:00Z",
	eventId: "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11",
	source: "shop",
	pipeline: "orders",
	trackingPlan: "shop-events",
	planVersion: "3f2a1b4c5d6e",
	table: "orders",
	run: "orders-1a2b3c",
	firstRun: "orders-1a2b3c",
	type: "order.paid",
	stream: "tidemill-frames-0-6c1f",
	object: "tidemill/events/account=shop/date=2026-03-01/a.parquet",
	url: "https://s3.example.com/tidemill/…",
	token: "eyJhbGciOiJSUzI1NiIsImtpZCI6Ii…",
	code: "Unauthorized",
	message: "The token is missing or wrong.",
	method: "POST",
	sha256: "0".repeat(64),
	status: "Succeeded",
	state: "Loaded",
	headerNames: "content-type",
	parameterNames: "shop",
	strategy: "Incremental",
	stage: "Bucket",
};

const numberOfField: Record<string, number> = {
	status: 401,
	httpStatus: 200,
	bytes: 31,
};

/** Fields that an answer may lack, and that people look for. */
const telling = new Set(["token", "eventId", "loads", "loadedTime", "object"]);

/** Answers for people to look at, made of the schemas: each required field, and what a body that creates the resource sets. */
export function answerExamples(
	schemas: Record<string, SchemaObject>,
): (schema: string) => unknown {
	const whole = (name: string): unknown => {
		const schema = schemas[name]!;
		const created = schemas[`${name.replace(/^Issued/, "")}Create`];
		const [given] = (created?.examples ?? []) as Record<string, unknown>[];
		return exampleValue(schema, name, given ?? {});
	};
	const exampleValue = (
		schema: SchemaObject,
		field: string,
		given: Record<string, unknown> = {},
	): unknown => {
		if (typeof schema.$ref === "string")
			return whole(schema.$ref.split("/").at(-1)!);
		if (schema.type === "object" && schema.properties)
			return objectOf(schema, given);
		if (schema.type === "array")
			return [exampleValue((schema.items ?? {}) as SchemaObject, field)];
		return simpleOf(schema, field);
	};
	const objectOf = (schema: SchemaObject, given: Record<string, unknown>) => {
		const required = (schema.required ?? []) as string[];
		const fields = Object.entries(
			schema.properties as Record<string, SchemaObject>,
		).filter(
			([name]) => required.includes(name) || name in given || telling.has(name),
		);
		return Object.fromEntries(
			fields.map(([name, field]) => [
				name,
				given[name] ?? exampleValue(field, name),
			]),
		);
	};
	return whole;
}

/** A value that the schema of a text, a number or a yes and no takes. */
function simpleOf(schema: SchemaObject, field: string): unknown {
	const { type, format, minimum, default: byDefault } = schema;
	const values = schema.enum as unknown[] | undefined;
	if (values) return values[0];
	if (typeof ofField[field] === type && format !== "date")
		return ofField[field];
	if (byDefault !== undefined) return byDefault;
	if (format === "date-time") return "2026-03-01T12:00:00Z";
	if (format === "date") return "2026-03-01";
	if (type === "boolean") return true;
	if (type === "integer") return numberOfField[field] ?? (minimum || 1);
	if (type === "object") return {};
	return field === "name" ? "orders-1a2b3c" : "…";
}
