/** Where each page stands in the site: every page of `docs/` once. Decisions and runbooks are listed by their files. */
export const sidebar: {
	text: string;
	pages: [path: string, text: string][];
}[] = [
	{
		text: "Tutorial",
		pages: [["tutorial", "Your first hour"]],
	},
	{
		text: "How-to: receive and look",
		pages: [
			["senders", "Providers and web pages"],
			["events", "Find an event"],
			["debug-a-webhook", "Debug a webhook"],
			["tracking-plans", "Tracking plans"],
			["operations", "Operations and quarantine"],
			["columns", "Columns of a table"],
			["reload", "Load dates again"],
			["retention", "Keep events longer"],
			["bigquery", "BigQuery"],
			["lake", "The bucket as a lake"],
			["notifications", "Notifications"],
			["orchestrators", "Airflow, Dagster, Prefect"],
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
			["reference/bigquery-errors", "BigQuery's errors"],
			["reference/bigquery-behaviours", "What we rely on in BigQuery"],
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
