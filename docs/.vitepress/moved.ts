/**
 * Addresses that people have, and where each leads now: a page, or a page and one of its headings. published.txt lists all addresses that
 * there have been; test/addresses.test.ts holds that each is there or stands here.
 */
export const moved: Record<string, string> = {
	"senders#github": "senders/github",
	"senders#stripe": "senders/stripe",
	"senders#shopify": "senders/shopify",
	"senders#slack": "senders/slack",
	"senders#amazon-sns": "senders/sns",
	"senders#meta": "senders/meta",
	"senders#twilio": "senders/twilio",
	"senders#svix": "senders/svix",
	"reference/resources#source": "reference/source",
	"reference/resources#status-of-a-source": "reference/source#status",
	"reference/resources#destination": "reference/destination",
	"reference/resources#status-of-a-destination": "reference/destination#status",
	"reference/resources#pipeline": "reference/pipeline",
	"reference/resources#status-of-a-pipeline": "reference/pipeline#status",
	"reference/resources#run": "reference/run",
	"reference/resources#status-of-a-run": "reference/run#status",
	"reference/resources#trackingplan": "reference/trackingplan",
	"reference/resources#status-of-a-trackingplan":
		"reference/trackingplan#status",
	"reference/resources#operation": "reference/operation",
	"reference/resources#status-of-a-operation": "reference/operation#status",
	"columns#formats-of-timestamps": "reference/columns#formats-of-timestamps",
	"columns#bodies-in-queries": "reference/columns#bodies-in-queries",
	"columns#what-columns-say-of-themselves":
		"reference/columns#what-columns-say-of-themselves",
	"upgrade#archives-snapshots-of-its-ledger":
		"reference/upgrade-notes#archives-snapshots-of-its-ledger",
	"upgrade#changed-values": "reference/upgrade-notes#changed-values",
	"upgrade#commands-that-changed":
		"reference/upgrade-notes#commands-that-changed",
	"upgrade#connections-that-changed":
		"reference/upgrade-notes#connections-that-changed",
	"upgrade#natss-accounts": "reference/upgrade-notes#natss-accounts",
	"upgrade#plans-whose-event-type-is-a-number":
		"reference/upgrade-notes#plans-whose-event-type-is-a-number",
	"upgrade#retention-and-the-bucket":
		"reference/upgrade-notes#retention-and-the-bucket",
	"upgrade#roles-that-changed": "reference/upgrade-notes#roles-that-changed",
	"upgrade#runs-that-changed": "reference/upgrade-notes#runs-that-changed",
	"upgrade#the-bucket-for-other-readers":
		"reference/upgrade-notes#the-bucket-for-other-readers",
	"upgrade#values-that-changed": "reference/upgrade-notes#values-that-changed",
	"sizing#cpu-of-an-event": "reference/figures#cpu-of-an-event",
	"sizing#large-bodies": "reference/figures#large-bodies",
	"sizing#memory-of-each-role": "reference/figures#memory-of-each-role",
	"sizing#requests-and-dollars": "reference/figures#requests-and-dollars",
	"sizing#what-the-operator-holds-of-an-account":
		"reference/figures#what-the-operator-holds-of-an-account",
	"sizing#where-each-part-stops-and-what-to-add":
		"reference/figures#where-each-part-stops-and-what-to-add",
	"high-availability#sizes": "reference/figures#sizes",
	"security#connections-of-strangers":
		"reference/attacks#connections-of-strangers",
	"security#text-in-another-programs-language":
		"reference/attacks#text-in-another-programs-language",
	"security#the-console": "reference/attacks#the-console",
	"security#who-may-see-changes": "reference/attacks#who-may-see-changes",
	"senders#a-check-of-the-url": "reference/senders#a-check-of-the-url",
	"senders#another-answer-to-events":
		"reference/senders#another-answer-to-events",
	"senders#no-body": "reference/senders#no-body",
	"senders#other-signatures": "reference/senders#other-signatures",
	"senders#a-public-key": "reference/senders#a-public-key",
	"lake#layout": "reference/bucket#layout",
	"lake#schema": "reference/bucket#schema",
	"jobs#sidecars": "reference/jobs#sidecars",
	"jobs#what-a-template-cant-do": "reference/jobs#what-a-template-cant-do",
	"notifications#what-a-receiver-gets":
		"reference/notifications#what-a-receiver-gets",
	"notifications#when-something-goes-wrong":
		"reference/notifications#when-something-goes-wrong",
	"notifications#which-addresses-may-be-called":
		"reference/notifications#which-addresses-may-be-called",
	"s3#what-archive-relies-on": "reference/bucket#what-archive-relies-on",
	"troubleshooting#the-sender-got-200-but-the-row-is-missing":
		"troubleshooting#no-rows-although-the-sender-got-200",
	"security#what-a-role-may-do": "reference/rights#what-a-role-may-do",
	"security#what-a-role-says-beside-a-spec":
		"reference/rights#what-a-role-says-beside-a-spec",
	"security#what-a-stolen-credential-gives":
		"reference/rights#what-a-stolen-credential-gives",
	// kubectl says the same.
	"reference/cli#tidemill-sources-get": "cli",
	"reference/cli#tidemill-sources-describe": "cli",
	"reference/cli#tidemill-destinations-get": "cli",
	"reference/cli#tidemill-destinations-describe": "cli",
	"reference/cli#tidemill-pipelines-get": "cli",
	"reference/cli#tidemill-pipelines-describe": "cli",
	"reference/cli#tidemill-runs-get": "cli",
	"reference/cli#tidemill-runs-describe": "cli",
	"reference/cli#tidemill-tracking-plans-get": "cli",
	"reference/cli#tidemill-tracking-plans-describe": "cli",
	"reference/cli#tidemill-operations-get": "cli",
	"reference/cli#tidemill-operations-describe": "cli",
	"reference/cli#tidemill-get": "cli",
};
