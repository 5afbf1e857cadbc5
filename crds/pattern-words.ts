import { warehouses } from "../packages/warehouses/registry.ts";

/** What a text must be that has to match a pattern of a CRD, for people. */
export function patternWords(pattern: string): string | undefined {
	return words[pattern] ?? ofWarehouses[pattern];
}

const dnsName =
	"must have only lower-case letters, digits, '-' and '.', and start and end with a letter or digit";

const words: Partial<Record<string, string>> = {
	"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$": dnsName,
	"^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$": dnsName,
	"^[a-z0-9]+(-[a-z0-9]+)*$":
		"must be the name of a header in lower case, such as x-request-id",
	"^(/([^~/]|~[01])*)+$": "must be a JSON Pointer, such as /order/id",
	"^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]{1,9})?$":
		"must be a number as JSON has it, such as 7016 or 1.5e3",
	"^([^{]|\\{+([^A-Za-z{]|$|(computed|header:[a-z0-9]+(-[a-z0-9]+)*|queryParameter:[A-Za-z0-9_.-]+|bodyPointer:(/([^~/{}]|~[01])*)+)\\}))*$":
		"must have no other name in braces than {header:NAME}, {queryParameter:NAME}, {bodyPointer:/a/b} and {computed}",
	"^([^{\\x00-\\x1f\\x7f-\\x9f]|\\{+([^A-Za-z{\\x00-\\x1f\\x7f-\\x9f]|$|(computed|header:[a-z0-9]+(-[a-z0-9]+)*|queryParameter:[A-Za-z0-9_.-]+|bodyPointer:(/([^~/{}]|~[01])*)+)\\}))*$":
		"must have no control character, and no other name in braces than {header:NAME}, {queryParameter:NAME}, {bodyPointer:/a/b} and {computed}",
	"^([a-z0-9]+-)*[a-z0-9]*hook[a-z0-9]*(-[a-z0-9]+)*$":
		"must be the name of a header in lower case with hook in it, such as x-hook-secret",
	"^\\{(header:[a-z0-9]+(-[a-z0-9]+)*|queryParameter:[A-Za-z0-9_.-]+|bodyPointer:(/([^~/{}]|~[01])*)+)\\}$":
		"must be {header:NAME}, {queryParameter:NAME} or {bodyPointer:/a/b}, such as {queryParameter:crc_token}",
	"^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$":
		"must be a quantity, such as 500m or 2Gi",
	"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$":
		"must be the name of a label, such as example.com/team",
	"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$":
		"must be a word of letters, digits and '_', such as WaitsForArchive",
	"^(Today|\\d{4}-\\d{2}-\\d{2})$":
		"must be Today or a date such as 2026-01-31",
	"^([01]\\d|2[0-3]):[0-5]\\d$": "must be a time of day such as 06:30",
	"^([A-Za-z_][A-Za-z0-9_]*)?$":
		"must have only letters, digits and '_', and not start with a digit",
	"^(\\d{1,2}h)?(\\d{1,4}m)?$": "must be a time such as 15m or 1h30m",
	"^(\\d{1,3}h)?(\\d{1,4}m)?$": "must be a time such as 30m or 72h",
	"^[A-Za-z0-9._/-]+$": "must have only letters, digits, '.', '_', '/' and '-'",
	"^(\\*|[a-z][a-z0-9+.-]*://[a-z0-9.-]+(:[0-9]+)?)$":
		"must be * or an origin without a path, such as https://shop.example",
	"^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+(\\.fifo)?$":
		"must be the ARN of a topic, such as arn:aws:sns:eu-west-1:123456789012:orders",
	"^[A-Za-z0-9_.-]+$": "must have only letters, digits, '_', '.' and '-'",
	"^[A-Za-z0-9_]+$": "must have only letters, digits and '_'",
	"^[a-z][a-z0-9_]*$":
		"must have only lower-case letters, digits and '_', and start with a letter",
	"^[A-Za-z][A-Za-z0-9-]*$":
		"must have only letters, digits and '-', and start with a letter",
	"^[^/\\x00-\\x1f\\x7f-\\x9f]+\\.(ndjson|jsonl|parquet)$":
		"must be the name of a file that ends in .ndjson, .jsonl or .parquet",
	"^[A-Za-z0-9_-]+$": "must have only letters, digits, '_' and '-'",
	"^https://[a-z0-9.-]+(:[0-9]+)?(/[!-~]*)?$":
		"must be a URL that begins with https:// and a host in lower case, such as https://keys.example/webhooks.json",
	"^[a-z0-9.-]+(:[0-9]+)?$":
		"must be a host in lower case, such as api.paypal.com",
	"^[^\\x00-\\x1f\\x7f-\\x9f]+$":
		"must have no control character, such as a line end",
	"^[^\\x00-\\x1f\\x7f-\\x9f]*$":
		"must have no control character, such as a line end",
	"^[0-9a-f]{64}$": "must be a SHA-256 in 64 hex digits of lower case",
	"^[a-z0-9_-]*$": "must have only lower-case letters, digits, '_' and '-'",
};

const ofWarehouses: Partial<Record<string, string>> = Object.assign(
	{},
	...[...warehouses.values()].map(({ patternWords }) => patternWords),
);
