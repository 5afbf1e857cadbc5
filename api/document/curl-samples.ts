import type { SchemaObject } from "../../crds/json-schema.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { apiResources } from "../resources/api-resource.ts";

/**
 * An endpoint as a curl command, with the variables of `.tidemill/env`: the URL ends in `/v1`. In the order of the page they find
 * what the ones before them have made: names are those of the bodies, and `$run` and `$event` are set by the commands that make them.
 */
export function curlSample(
	endpoint: Endpoint,
	schemas: Record<string, SchemaObject>,
): string {
	const { id, method, body } = endpoint;
	const example = body && sampleBody(schemas[body.schema]);
	const command = [
		`curl -sS${method === "GET" ? "" : ` -X ${method}`}${options[id] ?? ""} "$TIDEMILL_API_URL${routeOf(endpoint)}"`,
		authorization,
		...(method === "POST" ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
		...(example === undefined
			? []
			: [
					`-H 'Content-Type: application/${method === "PATCH" ? "merge-patch+" : ""}json'`,
					`-d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`,
				]),
	].join(" \\\n  ");
	return (around[id] ?? ((inner) => inner))(command);
}

const authorization = '-H "Authorization: Bearer $TIDEMILL_API_TOKEN"';

/** Streams have no end of their own. */
const options: Record<string, string> = {
	followChanges: " -N --max-time 5",
	tailEvents: " -N --max-time 5",
};

/** The name in what a command prints. */
const nameIn = (command: string) =>
	`$(${command} | sed -E 's/^."name":"([^"]*)".*/\\1/')`;

const started = nameIn(
	`curl -sS -X POST "$TIDEMILL_API_URL/pipelines/orders/run?queue=true" ${authorization}`,
);

/** Waits until the answer to a GET has this. */
const until = (path: string, member: string) =>
	`until curl -sS "$TIDEMILL_API_URL/${path}" ${authorization} | grep -q '${member}'; do sleep 1; done`;

const untilSucceeded = (operation: string) =>
	until(`operations/${operation}`, '"status":"Succeeded"');

/** A Run that is accepted at once, and one that is waited for. */
const queries: Record<string, string> = {
	startRun: "?queue=true",
	getRun: "?wait=60s",
};

/** What stands before or around a command, by the endpoint's id. */
const around: Record<string, (command: string) => string> = {
	sendTestEvent: (command) =>
		`${until("sources/shop", '"webhookURL"')}\nevent=$(${command} | sed -E 's/.*"eventId":"([^"]*)".*/\\1/')`,
	startRun: (command) => `run=${nameIn(command)}`,
	listExportFiles: (command) => `${untilSucceeded("for-analysts")}\n${command}`,
	// An Export has no Pod that could write a log.
	getOperationLogs: (command) =>
		`curl -sS -X POST "$TIDEMILL_API_URL/operations" ${authorization} -H 'Content-Type: application/json' -d '${JSON.stringify(draft)}'\n${untilSucceeded(draft.name)}\n${command}`,
	cancelRun: (command) => `other=${started}\n${command}`,
};

const draft = {
	name: "draft-of-shop",
	type: "Draft",
	sourceRef: { name: "shop" },
	eventType: { bodyPointer: "/event" },
};

/** Of a request about another resource than the ones before it. */
const names: Record<string, string> = {
	getOperationLogs: draft.name,
	cancelRun: "$other",
};

function routeOf({ id, path, tag }: Endpoint): string {
	const route = path
		.replace(/^\/v1/, "")
		.replace("{name}", names[id] ?? nameOf(path.split("/")[2]!, tag))
		.replace("{event_id}", "$event");
	return route + (queries[id] ?? "");
}

function nameOf(collection: string, tag: string): string {
	if (collection === "runs") return "$run";
	if (collection === "tokens") return "orchestrator";
	const resource = apiResources.find(
		(each) => each.collection === collection || each.collection === tag,
	);
	return (resource?.example as { name: string } | undefined)?.name ?? "example";
}

function sampleBody(schema: SchemaObject | undefined): unknown {
	const [example] = (schema?.examples ?? []) as object[];
	// A file on this machine is on no volume.
	const { duckDB } = (example ?? {}) as { duckDB?: { path: string } };
	return duckDB
		? { ...example, duckDB: { path: duckDB.path } }
		: (example ?? {});
}
