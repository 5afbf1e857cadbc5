import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const docs = join(import.meta.dirname, "..");
const warehouses = readdirSync(join(docs, "../packages/warehouses"));

/** Where each page stands in the site: every page of `docs/` once. Decisions and runbooks are listed by their files. */
export const sidebar: {
	text: string;
	pages: [path: string, text: string][];
}[] = [
	{
		text: "Tutorial",
		pages: [
			["quickstart", "Quick start"],
			["tutorial", "Your first hour"],
		],
	},
	{
		text: "How-to: receive and look",
		pages: [
			["senders", "Providers and web pages"],
			["console", "The console"],
			["laptop", "From a provider to your laptop"],
			["events", "Find an event"],
			["debug-a-webhook", "Debug a webhook"],
			["tracking-plans", "Tracking plans"],
			["operations", "Operations and quarantine"],
			["columns", "Columns of a table"],
			["reload", "Load dates again"],
			["retention", "Keep events longer"],
			...pagesOfWarehouses(""),
			["lake", "The bucket as a lake"],
			["notifications", "Notifications"],
			["orchestrators", "Airflow, Dagster, Prefect"],
			["dbt", "dbt"],
			["cli", "The command line"],
			["troubleshooting", "Troubleshooting"],
		],
	},
	{
		text: "How-to: run it in a cluster",
		pages: [
			["install", "Install"],
			["upgrade", "Upgrade, back up, restore"],
			["rotate-secrets", "Rotate Secrets"],
			["api-versions", "From v1alpha1 to v1beta1"],
			["high-availability", "High availability"],
			["sizing", "Sizing"],
			["s3", "S3"],
			["gitops", "GitOps"],
			["jobs", "Jobs in your namespace"],
			["observability", "Metrics, alerts, traces"],
		],
	},
	{
		text: "Reference",
		pages: [
			["reference/resources", "Resources"],
			["reference/cli", "Commands"],
			["reference/api", "REST API"],
			["reference/conditions", "Conditions"],
			["reference/errors", "Errors"],
			...pagesOfWarehouses("reference/"),
			["reference/events", "Kubernetes events"],
			["reference/json-schema", "JSON Schema"],
			["reference/metrics", "Metrics"],
			["reference/settings", "Settings"],
			["reference/values", "Values of the chart"],
		],
	},
	{
		text: "Explanation",
		pages: [
			["how-it-works", "How it works"],
			["security", "Security"],
			["comparison", "Compared with others"],
			["faq", "Frequent questions"],
		],
	},
];

/** The pages in the order of their "next" links, from the front page's first button on. Decisions and runbooks come after them. */
export const walk = sidebar.flatMap(({ pages }) => pages.map(([path]) => path));

/** The pages about one type of warehouse, such as `duckdb.md` and `reference/duckdb-errors.md`, by their titles. */
function pagesOfWarehouses(folder: string): [path: string, text: string][] {
	return globSync(`${folder}*.md`, { cwd: docs })
		.map((file) => file.replace(/\.md$/, ""))
		.filter((path) => {
			const [type] = path.slice(folder.length).split("-");
			return warehouses.includes(type!);
		})
		.toSorted()
		.map((path) => {
			const text = readFileSync(join(docs, `${path}.md`), "utf8");
			return [path, /^# (.*)$/m.exec(text)![1]!];
		});
}
