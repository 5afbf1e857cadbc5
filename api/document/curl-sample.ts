import type { JsonSchema } from "../../crds/json-schema.ts";
import type { Operation } from "../http/endpoint.ts";

/** An operation as a curl command, with the variables of `.tidemill/env`: the URL ends in `/v1`. */
export function curlSample(
	{ method, path, body }: Operation,
	schemas: Record<string, JsonSchema>,
): string {
	const route = path.replace(/^\/v1/, "").replace("{name}", "example");
	const example = body && exampleOf(schemas[body.schema]);
	return [
		`curl -sS${method === "GET" ? "" : ` -X ${method}`} "$TIDEMILL_API_URL${route}"`,
		'-H "Authorization: Bearer $TIDEMILL_API_TOKEN"',
		...(method === "POST" ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
		...(method === "PUT" || method === "PATCH" ? [`-H 'If-Match: "1"'`] : []),
		...(example === undefined
			? []
			: [
					`-H 'Content-Type: application/${method === "PATCH" ? "merge-patch+" : ""}json'`,
					`-d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`,
				]),
	].join(" \\\n  ");
}

function exampleOf(schema: JsonSchema | undefined): unknown {
	const [example] = (schema?.examples ?? []) as object[];
	return example ?? {};
}
