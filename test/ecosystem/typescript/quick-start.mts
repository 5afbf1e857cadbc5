// The quick start with openapi-fetch and the types that openapi-typescript makes.
import { setTimeout as delay } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { paths } from "./schema.d.mts";

const { TIDEMILL_API_URL, TIDEMILL_API_TOKEN } = process.env;
const api = createClient<paths>({
	baseUrl: new URL("/", TIDEMILL_API_URL).href,
	headers: { Authorization: `Bearer ${TIDEMILL_API_TOKEN}` },
});

/** The answer's body; throws if it is an error. */
function must<T>({ data, error }: { data?: T; error?: unknown }): T {
	if (data === undefined) throw new Error(JSON.stringify(error));
	return data;
}

const source = must(
	await api.POST("/v1/sources", {
		body: { name: "ts-shop", type: "Webhook" },
	}),
);
if (!source.webhookURL) throw new Error("The source has no URL.");
const sendEvent = async () =>
	must(
		await api.POST("/v1/sources/{name}/test-event", {
			params: { path: { name: source.name } },
			body: { type: "order.paid", order: 1 },
		}),
	);
while (!(await sendEvent()).accepted) await delay(200);
const destination = must(
	await api.POST("/v1/destinations", {
		body: { name: "ts-lake", type: "DuckDB", duckDB: { path: "ts.duckdb" } },
	}),
);
const pipeline = must(
	await api.POST("/v1/pipelines", {
		body: {
			name: "ts-orders",
			sourceRef: { name: source.name },
			destinationRef: { name: destination.name },
		},
	}),
);
let run = must(
	await api.POST("/v1/pipelines/{name}/run", {
		params: {
			path: { name: pipeline.name },
			query: { queue: true },
		},
		body: {},
	}),
);
while (run.status === "Pending" || run.status === "Running")
	run = must(
		await api.GET("/v1/runs/{name}", {
			params: { path: { name: run.name }, query: { wait: "30s" } },
		}),
	);
const missing = await api.GET("/v1/sources/{name}", {
	params: { path: { name: "missing" } },
});
console.log(run.status, run.rows, missing.error?.code);
