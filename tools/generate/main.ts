import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { apiPage } from "./api-page.ts";
import { argocdHealthFiles } from "./argocd-health.ts";
import { bigQueryBehavioursPage } from "./bigquery/behaviours-page.ts";
import { bigQueryErrorsPage } from "./bigquery-pages.ts";
import { chartFiles } from "./chart/chart-files.ts";
import { cliPage } from "./cli-page.ts";
import { clientTypesText } from "./client-types.ts";
import { conditionsPage } from "./conditions-page.ts";
import { crdFiles, schemaFiles, writeFiles } from "./crds.ts";
import { errorsPage } from "./errors-page.ts";
import { eventsPage } from "./events-page.ts";
import { jsonScanText } from "./json-scan.ts";
import { jsonSchemaPage } from "./json-schema-page.ts";
import { metricsPage } from "./metrics-page.ts";
import { resourcesPage } from "./resources-page.ts";

/** Every generated file: its path in the repository and its text. */
export function generatedFiles(): [path: string, text: string][] {
	const resources = readResourceSchemas();
	return [
		...crdFiles(),
		...schemaFiles(),
		["api/generated/client-types.ts", clientTypesText()],
		...argocdHealthFiles(),
		["docs/reference/api.md", apiPage()],
		["docs/reference/bigquery-behaviours.md", bigQueryBehavioursPage()],
		["docs/reference/bigquery-errors.md", bigQueryErrorsPage()],
		["docs/reference/cli.md", cliPage()],
		["docs/reference/conditions.md", conditionsPage()],
		["docs/reference/errors.md", errorsPage()],
		["docs/reference/events.md", eventsPage()],
		["docs/reference/json-schema.md", jsonSchemaPage()],
		["docs/reference/metrics.md", metricsPage()],
		["docs/reference/resources.md", resourcesPage(resources)],
		["ingest/receive/text/generated/json-scan.ts", jsonScanText()],
		...chartFiles(),
	];
}

if (import.meta.main) writeFiles(generatedFiles());
