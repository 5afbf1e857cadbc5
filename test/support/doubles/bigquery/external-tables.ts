import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quoteText } from "../../../../packages/duckdb/quoting.ts";
import { type Answer, type Api, type Call, jsonOf } from "./call.ts";
import { Fault, invalid, notFound } from "./fault.ts";

/** Those that a table of Parquet files takes, of the statement's external_table_option_list. */
const options = [
	...["description", "enable_list_inference", "expiration_timestamp"],
	...["file_set_spec_type", "format", "hive_partition_uri_prefix"],
	...["ignore_unknown_values", "max_staleness", "metadata_cache_mode"],
	...["reference_file_schema_uri", "require_hive_partition_filter", "uris"],
];
const manifest = "NEW_LINE_DELIMITED_MANIFEST";

/**
 * Answers jobs.query for one statement (cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language,
 * "CREATE EXTERNAL TABLE"): tables of Parquet files in Cloud Storage, or by a connection in S3
 * (docs/omni-aws-create-external-table), which are the same buckets here. BigQuery reads files anew at each query, and this
 * double once.
 */
export async function queryRoute(
	{ warehouse, buckets }: Api,
	call: Call,
): Promise<Answer> {
	const { query, useLegacySql = true } = jsonOf(call);
	if (useLegacySql) throw invalid("DDL statements need useLegacySql: false");
	const [, datasetId, tableId, connection, text] =
		/^CREATE EXTERNAL TABLE (\w+)\.(\w+)\s+(?:WITH CONNECTION `([\w.-]+)`\s+)?OPTIONS \(([^()]*)\);?\s*$/.exec(
			query,
		) ?? [];
	if (!datasetId || !tableId || text === undefined)
		throw new Fault(400, "invalidQuery", "Syntax error, or not in this double");
	const location = warehouse.requireDataset(datasetId);
	if (connection !== undefined && connection.split(".").at(-2) !== location)
		throw notFound(`Connection ${connection}`);
	const given = optionsOf(text);
	if (given.get("format") !== "PARQUET")
		throw invalid("Only tables of Parquet files are in this double");
	const found = urisOf(given.get("uris")).flatMap((uri) => {
		// docs/omni-aws-create-external-table: S3 is read by a connection.
		if (uri.startsWith("s3://") && !connection?.includes("aws-"))
			throw invalid(`A connection is needed for ${uri}`);
		return matching(uri);
	});
	function matching(uri: string): Buffer[] {
		const [, bucket = "", pattern = ""] =
			/^(?:gs|s3):\/\/([^/*]+)\/(.+)$/.exec(uri) ?? [];
		// docs/external-data-cloud-storage#wildcard-support: one, behind the bucket.
		const [before = "", after, ...more] = pattern.split("*");
		if (more.length > 0) throw invalid(`Invalid source URI: ${uri}`);
		const names = buckets
			.names(bucket)
			.filter((name) =>
				after === undefined
					? name === pattern
					: name.startsWith(before) && name.endsWith(after),
			);
		if (names.length === 0) throw notFound(`URI ${uri}`);
		return names.map((name) => buckets.require(bucket).get(name)!);
	}
	// docs/query-open-table-format-using-manifest-files: one URI in each line.
	const files =
		given.get("file_set_spec_type") === manifest
			? found.flatMap((lines) =>
					lines
						.toString()
						.split("\n")
						.filter(Boolean)
						.flatMap((line) => {
							if (line.includes("*")) throw invalid(`Wildcard in ${line}`);
							return matching(line);
						}),
				)
			: found;
	const folder = await mkdtemp(join(tmpdir(), "tidemill-external-"));
	try {
		const paths = files.map((_, at) => join(folder, `${at}.parquet`));
		for (const [at, path] of paths.entries()) await writeFile(path, files[at]!);
		await warehouse
			.alone(() =>
				warehouse.run(
					`CREATE TABLE ${datasetId}.${tableId} AS FROM read_parquet([${paths.map(quoteText).join()}])`,
				),
			)
			.catch((error) => {
				throw invalid(`Error while reading data: ${error.message}`);
			});
	} finally {
		await rm(folder, { recursive: true });
	}
	return {
		status: 200,
		body: {
			kind: "bigquery#queryResponse",
			jobReference: {
				projectId: warehouse.projectId,
				jobId: randomUUID(),
				location,
			},
			jobComplete: true,
			ddlOperationPerformed: "CREATE",
		},
	};
}

/** `name = 'text'` or `name = ['text', …]`, with commas between them. */
function optionsOf(text: string): Map<string, string> {
	const given = new Map<string, string>();
	const option = /\s*(\w+)\s*=\s*(?:'([^']*)'|\[([^\]]*)\])\s*(,|$)/y;
	while (option.lastIndex < text.length) {
		const [, name = "", single, several = ""] = option.exec(text) ?? [];
		if (!options.includes(name))
			throw new Fault(400, "invalidQuery", `Unknown option: ${name || text}`);
		given.set(name, single ?? several);
	}
	return given;
}

function urisOf(list = ""): string[] {
	const uris = [...list.matchAll(/'([^']*)'/g)].map(([, uri]) => uri!);
	if (uris.length === 0) throw invalid("Required option: uris");
	return uris;
}
