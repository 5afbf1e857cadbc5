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
		text: "Begin",
		pages: [
			["quickstart", "Quick start"],
			["tutorial", "Your first hour"],
		],
	},
	{
		text: "I send webhooks",
		pages: [
			["send-webhooks", "Where to go"],
			["senders", "Providers and web pages"],
			["senders/github", "GitHub"],
			["senders/stripe", "Stripe"],
			["senders/shopify", "Shopify"],
			["senders/slack", "Slack"],
			["senders/sns", "Amazon SNS"],
			["senders/meta", "Meta"],
			["senders/twilio", "Twilio"],
			["senders/svix", "Svix"],
			["laptop", "From a provider to your laptop"],
			["events", "Find an event"],
			["debug-a-webhook", "Debug a webhook"],
			["tracking-plans", "Tracking plans"],
		],
	},
	{
		text: "I want a table",
		pages: [
			["want-a-table", "Where to go"],
			["operations", "Operations and quarantine"],
			["columns", "Columns of a table"],
			["reload", "Load dates again"],
			["retention", "Keep events longer"],
			...pagesOfWarehouses(""),
			["stripe-into-postgres", "Stripe into Postgres"],
			["lake", "The bucket as a lake"],
			["dbt", "dbt"],
		],
	},
	{
		text: "I call the API",
		pages: [
			["call-the-api", "Where to go"],
			["console", "The console"],
			["cli", "The command line"],
			["orchestrators", "Airflow, Dagster, Prefect"],
			["notifications", "Notifications"],
		],
	},
	{
		text: "I run the cluster",
		pages: [
			["run-the-cluster", "Where to go"],
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
			["security", "Security"],
			["troubleshooting", "Troubleshooting"],
		],
	},
	{
		text: "Reference",
		pages: [
			["reference/resources", "Resources"],
			["reference/source", "Source"],
			["reference/destination", "Destination"],
			["reference/pipeline", "Pipeline"],
			["reference/run", "Run"],
			["reference/trackingplan", "TrackingPlan"],
			["reference/operation", "Operation"],
			["reference/senders", "Senders in your own words"],
			["reference/columns", "What a column holds"],
			["reference/operations", "What an Operation does"],
			["reference/tracking-plans", "What a tracking plan checks"],
			["reference/tables", "Runs and their tables"],
			["reference/bucket", "The bucket"],
			["reference/jobs", "Jobs"],
			["reference/notifications", "Notifications"],
			["reference/refusals", "Tails and refused requests"],
			["reference/cli", "Commands"],
			["reference/api", "REST API"],
			["reference/conditions", "Conditions"],
			["reference/errors", "Errors"],
			...pagesOfWarehouses("reference/"),
			["reference/events", "Kubernetes events"],
			["reference/json-schema", "JSON Schema"],
			["reference/metrics", "Metrics"],
			["reference/alerts", "Alerts"],
			["reference/traces", "Traces and logs"],
			["reference/settings", "Settings"],
			["reference/values", "Values of the chart"],
			["reference/installation", "Parts of an installation"],
			["reference/figures", "Figures"],
			["reference/rights", "Rights, stolen credentials"],
			["reference/attacks", "Attacks that were tried"],
			["reference/upgrade-notes", "Upgrade notes"],
		],
	},
	{
		text: "Explanation",
		pages: [
			["how-it-works", "How it works"],
			["comparison", "Compared with others"],
			["faq", "Frequent questions"],
			["glossary", "Glossary"],
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
