// ajv: it has the metaschemas of each draft, against which operator and receive validate schemas, too.
import { Ajv, type ErrorObject } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { cronFault, cronForm } from "../../crds/schedule.ts";
import { isTimeZone, zoneForm } from "../../crds/wall-clock.ts";
import { pointerParts } from "../../packages/json/json-pointer.ts";
import { isObject, type JsonObject } from "../http/endpoint.ts";
import type { ErrorDetail } from "../http/errors.ts";

/** Wrong values that neither the CRD's schema nor its rules can check. Without this, only the resource's conditions would say so. */
export function valueErrors(kind: string, spec: JsonObject): ErrorDetail[] {
	if (kind === "TrackingPlan") return planSchemaErrors(spec);
	if (kind === "Operation") return importErrors(spec);
	if (kind !== "Pipeline") return [];
	const { schedule, table } = spec;
	const { cron, timeZone } = isObject(schedule) ? schedule : {};
	const { bodyColumns } = isObject(table) ? table : {};
	const errors: ErrorDetail[] = [];
	const fault = typeof cron === "string" ? cronFault(cron.trim()) : undefined;
	if (fault !== undefined)
		errors.push({ path: "schedule.cron", message: `${cronForm}: ${fault}` });
	if (typeof timeZone === "string" && !isTimeZone(timeZone))
		errors.push({ path: "schedule.timeZone", message: zoneForm });
	for (const [index, column] of [bodyColumns ?? []].flat().entries())
		if (
			isObject(column) &&
			typeof column.timeZone === "string" &&
			!isTimeZone(column.timeZone)
		)
			errors.push({
				path: `table.bodyColumns[${index}].timeZone`,
				message: zoneForm,
			});
	return errors;
}

function importErrors({ import: given }: JsonObject): ErrorDetail[] {
	const { timeZone } = isObject(given) ? given : {};
	return typeof timeZone === "string" && !isTimeZone(timeZone)
		? [{ path: "import.timeZone", message: zoneForm }]
		: [];
}

/**
 * The first error of each schema of a tracking plan, by the metaschema of its draft. Nothing is compiled, so that nobody's
 * schema costs others their answers; what only compiling finds, such as a `$ref` to nowhere, the operator says.
 */
export function planSchemaErrors({
	common,
	events,
}: JsonObject): ErrorDetail[] {
	const list = Array.isArray(events) ? events : [];
	return [
		...schemaErrors(common, "common"),
		...list.flatMap((event, index) =>
			isObject(event)
				? schemaErrors(event.schema, `events[${index}].schema`)
				: [],
		),
	];
}

const options = { validateFormats: false, logger: false } as const;
const drafts: Record<string, () => Ajv> = {
	"https://json-schema.org/draft/2020-12/schema": () => new Ajv2020(options),
	"https://json-schema.org/draft/2019-09/schema": () => new Ajv2019(options),
	"http://json-schema.org/draft-07/schema": () => new Ajv(options),
};
const [newest] = Object.keys(drafts);
/** Made when a schema first needs it, which few requests do. */
const validators = new Map<string, Ajv>();

function schemaErrors(schema: unknown, path: string): ErrorDetail[] {
	// The CRD's schema says so.
	if (!isObject(schema)) return [];
	const { $schema = newest } = schema;
	const draft = String($schema).replace(/#$/, "");
	const make = Object.hasOwn(drafts, draft) ? drafts[draft] : undefined;
	if (!make)
		return [
			{
				path: `${path}.$schema`,
				message: `must be one of ${Object.keys(drafts).join(", ")}`,
			},
		];
	const validator = validators.get(draft) ?? make();
	validators.set(draft, validator);
	// A meta-schema asks of a number only what it asks of its neighbours.
	const rounded: unknown = JSON.parse(JSON.stringify(schema));
	if (validator.validate(draft, rounded)) return [];
	const [error] = validator.errors!;
	validator.errors = null;
	return [{ path: path + pathOf(error!), message: messageOf(error!) }];
}

/** An RFC 6901 pointer as in the paths of other errors: `.properties.total.type`. */
function pathOf({ instancePath }: ErrorObject): string {
	return pointerParts(instancePath)
		.map((part) => (/^[\w$]+$/.test(part) ? `.${part}` : `["${part}"]`))
		.join("");
}

function messageOf({ keyword, params, message }: ErrorObject): string {
	return keyword === "enum"
		? `must be one of ${params.allowedValues.join(", ")}`
		: (message ?? "is invalid");
}
