// The quick start with @tidemill/client, for Node and for browsers.
import { ApiError, RunFailed } from "@tidemill/client";

/** What a caller sees of it, for a test. */
export async function quickStart(tidemill) {
	const { name: source, webhookURL } = await tidemill.sources.create({
		name: "client-shop",
		type: "Webhook",
	});
	while (!(await tidemill.sources.sendTestEvent(source, { order: 1 })).accepted)
		await new Promise((resolve) => setTimeout(resolve, 200));
	const { name: destination } = await tidemill.destinations.create({
		name: "client-lake",
		type: "DuckDB",
		duckDB: { path: "client.duckdb" },
	});
	const { name: pipeline } = await tidemill.pipelines.create({
		name: "client-orders",
		sourceRef: { name: source },
		destinationRef: { name: destination },
	});
	const options = { queue: true, idempotencyKey: "client-test" };
	const run = await tidemill.pipelines.run(pipeline, options);
	const again = await tidemill.pipelines.run(pipeline, options);
	const { status, rows } = await run.wait({ timeoutMs: 120_000 });
	const { items } = await tidemill.runs.list({ pipeline, status: "Succeeded" });
	const missing = await tidemill.sources.get("missing").catch((error) => error);
	const invalid = await tidemill.sources
		.create({ name: "client-wrong", type: "Telepathy" })
		.catch((error) => error);
	return {
		hasURL: webhookURL !== undefined,
		isOneRun: run.name === again.name,
		status,
		rows,
		listed: items.map(({ name }) => name === run.name),
		missing: missing instanceof ApiError && missing.code,
		invalid: invalid.details.map(({ path }) => path),
		isFailure: missing instanceof RunFailed,
	};
}
