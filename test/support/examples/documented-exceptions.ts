/** Pieces of pages that no test runs word for word, by their address, and why. test/documented-exceptions.all.test.ts parses each. */
export const exceptions: { at: string; because: string }[] = [
	...[
		"README.md#quick-start sh",
		"README.md#develop sh",
		"docs/stripe-into-postgres.md#1-start-tidemill-and-a-postgres sh",
	].map((at) => ({
		at,
		because:
			"It is what starts Tidemill and its tests; local/makefile.test.ts has the targets, and tests start the same program.",
	})),
	...[
		"docs/bigquery.md#set-it-up sh",
		"docs/bigquery.md#through-a-bucket sh",
		"docs/bigquery.md#try-it-on-your-project sh",
	].map((at) => ({
		at,
		because: "It needs gcloud, bq and a project of Google's.",
	})),
	{
		at: "docs/clickhouse.md#set-it-up sql",
		because:
			"The engine that tests have is a library with one user, and makes no others.",
	},
	{
		at: "docs/laptop.md#stripe-without-a-tunnel sh",
		because: "It needs Stripe's program and an account there.",
	},
	{
		at: "docs/cli.md#without-a-clone sh",
		because:
			"The release is on GitHub; test/local-mode/cli-package.all.test.ts installs the package that it has.",
	},
	{
		at: "charts/tidemill/README.md#tidemills-helm-chart sh 2",
		because: "It verifies a published chart by Sigstore's log.",
	},
	{
		at: "docs/s3.md#credentials json",
		because: "It is a policy of AWS, whose IAM no test has.",
	},
	{
		at: "docs/reference/alerts.md#exporters yaml",
		because: "It is configuration of Prometheus, which scrapes no Pods here.",
	},
	...[
		"docs/install.md#try-it-out sh 2",
		"docs/high-availability.md#move-a-source sh",
		"docs/rotate-secrets.md#rotate-secrets sh",
		"docs/rotate-secrets.md#the-charts-secrets sh",
		"docs/reference/errors.md#objects-that-are-gone sh",
		"docs/runbooks/Tidemill{ArchiveLags,BucketRefused,JetStreamFills,NATSNoLeader,NATSNotCurrent,NATSSlowConsumers,ReceiveFails,VolumeFills,VolumeFull}.md sh",
	].map((at) => ({
		at,
		because:
			"It needs running Pods of an installation: port-forward, exec, top or a proxy to them.",
	})),
];
