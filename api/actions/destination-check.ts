import { randomUUID } from "node:crypto";
import type { Destination } from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import type { Handler } from "../http/endpoint.ts";
import { destinations } from "../resources/api-resource.ts";
import { annotateOnce } from "../resources/actions.ts";

/**
 * `POST /v1/destinations/{name}/check`: 200 and the Destination after one more check of it, or 202 if the check still runs.
 * `lastCheck.time` then tells when it has ended.
 */
export const checkDestination: Handler = (caller, request, reply) => {
	const value = request.idempotency?.digest.slice(0, 32) ?? randomUUID();
	return annotateOnce<Destination>(caller, request, reply, {
		resource: destinations,
		annotation: annotation.check,
		value,
		isDone: (_, { status }) => status?.lastCheck?.request === value,
	});
};
