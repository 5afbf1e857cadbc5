import { randomUUID } from "node:crypto";
import type { Source } from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import type { Handler } from "../http/endpoint.ts";
import { sources } from "../resources/api-resource.ts";
import { annotateOnce } from "../resources/actions.ts";

/**
 * `POST /v1/sources/{name}/rotate-url`: 200 and the Source with its new URL, or 202 if the operator has still to issue it. The
 * operator keeps the URL's keys in a Secret, which the caller needn't read or write.
 */
export const rotateURL: Handler = (caller, request, reply) =>
	annotateOnce<Source>(caller, request, reply, {
		resource: sources,
		annotation: annotation.rotateURL,
		value: request.idempotency?.digest.slice(0, 32) ?? randomUUID(),
		isDone: (before, { status }) =>
			status?.webhookURL !== undefined &&
			status.webhookURL !== before.status?.webhookURL,
	});
