import type { TestProject } from "vitest/node";
import { freePort } from "../../local/machine/ports.ts";
import { startCollector } from "../support/doubles/otlp-collector.ts";
import { startLocalMode } from "../support/servers/local-mode.ts";

/** What npm has as a package. */
export const hasPostgres =
	process.platform === "linux" && process.arch === "x64";

declare module "vitest" {
	export interface ProvidedContext {
		/** $TIDEMILL_HOME of the local Tidemill that all promises share. */
		localMode: string;
		/** Where that one expects BigQuery. */
		bigQueryPort: number;
		/** What its processes send their traces to. */
		collector: string;
	}
}

/** Starts one local Tidemill for all promises, since each takes 20 s; each file works in a namespace of its own. */
export default async function setup(
	project: TestProject,
): Promise<() => Promise<void>> {
	const bigQueryPort = await freePort();
	const collector = await startCollector();
	const { home, stop } = await startLocalMode({
		TIDEMILL_BIGQUERY_ENDPOINTS: `http://127.0.0.1:${bigQueryPort}`,
		...(hasPostgres && { POSTGRES: "1" }),
		OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
	});
	project.provide("localMode", home);
	project.provide("bigQueryPort", bigQueryPort);
	project.provide("collector", collector.url);
	return async () => {
		await stop();
		await collector.stop();
	};
}
