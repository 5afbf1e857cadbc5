import {
	cronFault,
	cronForm,
	zoneForm,
} from "../../crds/schedule/schedule.ts";
import { isTimeZone } from "../../crds/schedule/wall-clock.ts";
import type { Kind } from "../../crds/spec-validator.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { isObject, type JsonObject } from "../http/endpoint.ts";
import { planSchemaErrors } from "./values/plan-schemas.ts";

/** Wrong values that neither the CRD's schema nor its rules can judge. Without this, only the resource's conditions would tell. */
export function valueErrors(kind: Kind, spec: JsonObject): ErrorDetail[] {
	if (kind === "TrackingPlan") return planSchemaErrors(spec);
	const { schedule } = spec;
	if (kind !== "Pipeline" || !isObject(schedule)) return [];
	const { cron, timeZone } = schedule;
	const errors: ErrorDetail[] = [];
	const fault = typeof cron === "string" ? cronFault(cron.trim()) : undefined;
	if (fault !== undefined)
		errors.push({ path: "schedule.cron", message: `${cronForm}: ${fault}` });
	if (typeof timeZone === "string" && !isTimeZone(timeZone))
		errors.push({ path: "schedule.timeZone", message: zoneForm });
	return errors;
}
