const secretHelp =
	'A Secret of this namespace with the label tidemill.dev/use: "true".';

/** The words of the Destinations' pages. */
export const destinations = {
	title: "Destinations",
	newDestination: "New destination",
	name: "Name",
	status: "Status",
	type: "Type",
	where: "Where",
	lastCheck: "Last check",
	emptyTitle: "No destinations yet",
	empty:
		"A destination is a warehouse into which pipelines load: a DuckDB file, Postgres, ClickHouse or BigQuery.",

	what: "What it is",
	destinationName: "Destination name",
	nameHelp: "For kubectl and the API. It can't change later.",
	displayName: "Name to display",
	types: {
		DuckDB: "DuckDB: a file on a volume",
		Postgres: "Postgres: a schema, version 14 or newer",
		ClickHouse: "ClickHouse: a database, version 24.8 or newer",
		BigQuery: "BigQuery: a dataset",
	},
	asIfAbsent: "not set",
	/** By the path in the spec. */
	fields: {
		"duckDB.path": ["Path of the file", "Such as analytics/events.duckdb."],
		"duckDB.volumeClaimName": [
			"PersistentVolumeClaim",
			'It holds the file, and has the label tidemill.dev/use: "true". Needed in a cluster; on a laptop a folder is used instead.',
		],
		"postgres.credentials.secretRef.name": [
			"Secret with username and password",
			`${secretHelp} Its keys host, port and dbname fill what is empty below.`,
		],
		"postgres.host": ["Host", "Empty: the Secret's key host."],
		"postgres.port": ["Port", "Empty: the Secret's key port, or else 5432."],
		"postgres.database": ["Database", "Empty: the Secret's key dbname."],
		"postgres.schema": ["Schema", "Empty: public."],
		"postgres.sslMode": [
			"TLS mode",
			"verify-full checks the server's certificate and its name; disable sends events and the password unencrypted.",
		],
		"postgres.caSecretRef.name": [
			"Secret with certificates of authorities",
			`${secretHelp} Empty: the public authorities.`,
		],
		"clickHouse.url": ["URL", "Such as https://clickhouse.example.com:8443."],
		"clickHouse.database": ["Database", ""],
		"clickHouse.credentials.secretRef.name": [
			"Secret with username and password",
			secretHelp,
		],
		"clickHouse.engine": [
			"Engine of tables",
			"Not set: MergeTree, which ClickHouse Cloud makes a SharedMergeTree.",
		],
		"clickHouse.cluster": [
			"Cluster",
			"On all of whose servers tables are made. Not for ClickHouse Cloud.",
		],
		"clickHouse.caSecretRef.name": [
			"Secret with certificates of authorities",
			`${secretHelp} Empty: the public authorities.`,
		],
		"bigQuery.projectId": ["Project", "The Google Cloud project's ID."],
		"bigQuery.dataset": ["Dataset", ""],
		"bigQuery.location": [
			"Location",
			"Such as EU, US or europe-west1. Empty: EU.",
		],
		"bigQuery.createDataset": ["Create the dataset if it isn't there", ""],
		"bigQuery.credentials.secretRef.name": [
			"Secret with a service account's key",
			`${secretHelp} Empty: workload identity.`,
		],
		"bigQuery.credentials.secretRef.key": [
			"Key in that Secret",
			"Such as key.json.",
		],
		"bigQuery.stagingBucket": [
			"Staging bucket",
			"A Cloud Storage bucket for load jobs. Empty: files go to BigQuery directly.",
		],
	} as Record<string, readonly [label: string, help: string]>,

	checkNow: "Check now",
	checking: "The check runs. What it finds is shown here.",
	checked: "The check has ended.",
	warning: "What the warehouse does that you may not expect",
	edit: "Edit",
	editTitle: (name: string) => `Edit ${name}`,
	pipelines: "Pipelines into it",
	noPipelines: "No pipeline loads into it yet.",
	newPipeline: "New pipeline",
	facts: "Facts",
	deleteLoss:
		"Tidemill forgets how to reach the warehouse. Tables and rows in it stay. Pipelines that name it can't run any more; while there are any, the API refuses.",
	deleting: (name: string) => `${name} is being deleted.`,
};
