import {
	type DuckDBConnection,
	DuckDBInstance,
	type Json,
} from "@duckdb/node-api";
import { quoteName, quoteText } from "../../../../packages/duckdb/quoting.ts";
import type {
	BigQueryField,
	BigQueryTable,
	DatasetResource,
	TableReference,
} from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { oneThread } from "../../duckdb.ts";
import { duplicate, Fault, invalid, notFound, requireKnown } from "./fault.ts";
import { requireKeyChange, requireValid } from "./table-rules.ts";

export interface TableAccess {
	/** Ids (cloud.google.com/bigquery/docs/reference/rest/v2/rowAccessPolicies). */
	rowAccessPolicies: string[];
	/** The rows that its row access policies let the account see, as a condition of SQL; absent for all. */
	filter?: string;
	/** That the table's own policy grants (cloud.google.com/bigquery/docs/reference/rest/v2/tables/getIamPolicy). */
	roles: string[];
}

/** DuckDB's type for each of BigQuery's (cloud.google.com/bigquery/docs/reference/standard-sql/data-types). */
const types: Record<string, string> = {
	STRING: "VARCHAR",
	TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
	DATE: "DATE",
	INTEGER: "BIGINT",
	INT64: "BIGINT",
	FLOAT: "DOUBLE",
	BOOLEAN: "BOOLEAN",
	NUMERIC: "DECIMAL(38,9)",
	// DuckDB has no 76 digits. Text keeps them all.
	BIGNUMERIC: "VARCHAR",
	JSON: "JSON",
};

/**
 * Datasets and tables: metadata as in the API's reference of the resources Dataset and Table, and rows in DuckDB. Names
 * follow cloud.google.com/bigquery/docs/datasets#dataset-naming and docs/tables#table_naming.
 */
export class Warehouse {
	readonly projectId: string;
	/** Dataset → location. */
	readonly datasets = new Map<string, string>();
	/** Dataset → the expirations that its new tables get. */
	readonly defaults = new Map<
		string,
		Pick<
			DatasetResource,
			"defaultTableExpirationMs" | "defaultPartitionExpirationMs"
		>
	>();
	readonly #tables = new Map<string, BigQueryTable>();
	/** `dataset.table` → who has access to it beyond its dataset's. */
	readonly access = new Map<string, TableAccess>();
	readonly #connection: DuckDBConnection;
	readonly #instance: DuckDBInstance;
	#changes = 0;
	/** Patches of one table that are taken within a time; BigQuery's are 5 in 10 seconds, which tests of other things would wait for. */
	tableUpdates = { count: Number.POSITIVE_INFINITY, withinMs: 10_000 };
	readonly #updatedAt = new Map<string, number[]>();
	#turn: Promise<unknown> = Promise.resolve();

	static async open(projectId: string): Promise<Warehouse> {
		const instance = await DuckDBInstance.create(":memory:", oneThread);
		const connection = await instance.connect();
		await connection.run("SET TimeZone = 'UTC'");
		return new Warehouse(projectId, instance, connection);
	}

	private constructor(
		projectId: string,
		instance: DuckDBInstance,
		connection: DuckDBConnection,
	) {
		this.projectId = projectId;
		this.#instance = instance;
		this.#connection = connection;
	}

	close(): void {
		this.#connection.closeSync();
		this.#instance.closeSync();
	}

	/** Runs one transaction at a time, because all requests share one connection. */
	alone<T>(work: () => Promise<T>): Promise<T> {
		const turn = this.#turn.then(work);
		this.#turn = turn.catch(() => undefined);
		return turn;
	}

	/** Any SQL, within {@link alone}. Tables are named `dataset.table`. */
	async sql(text: string): Promise<Json[][]> {
		return (await this.#connection.run(text)).getRowsJson();
	}

	/** Within {@link alone}. Throws DuckDB's error. */
	async run(text: string): Promise<number> {
		return (await this.#connection.run(text)).rowsChanged;
	}

	async createDataset(name: string, location: string): Promise<void> {
		if (!/^\w{1,1024}$/.test(name))
			throw invalid(`Invalid dataset ID "${name}"`);
		if (this.datasets.has(name))
			throw duplicate(`Dataset ${this.projectId}:${name}`);
		this.datasets.set(name, location);
		await this.alone(() => this.run(`CREATE SCHEMA ${quoteName(name)}`));
	}

	/** cloud.google.com/bigquery/docs/reference/rest/v2/datasets/delete */
	async deleteDataset(name: string, isWhole: boolean): Promise<void> {
		this.requireDataset(name);
		const tables = this.tableNames().filter((id) => id.startsWith(`${name}.`));
		if (tables.length > 0 && !isWhole)
			throw new Fault(
				400,
				"resourceInUse",
				`Dataset ${this.projectId}:${name} is still in use`,
			);
		for (const id of tables) this.#tables.delete(id);
		this.datasets.delete(name);
		await this.alone(() => this.run(`DROP SCHEMA ${quoteName(name)} CASCADE`));
	}

	requireDataset(name: string): string {
		const location = this.datasets.get(name);
		if (location === undefined)
			throw notFound(`Dataset ${this.projectId}:${name}`);
		return location;
	}

	/** Ignores a decorator. Returns undefined if there is no such table. */
	find({ datasetId, tableId }: TableReference): BigQueryTable | undefined {
		return this.#tables.get(`${datasetId}.${tableOf(tableId)}`);
	}

	require(reference: TableReference): BigQueryTable {
		this.requireDataset(reference.datasetId);
		const table = this.find(reference);
		if (!table)
			throw notFound(
				`Table ${this.projectId}:${reference.datasetId}.${reference.tableId}`,
			);
		return table;
	}

	/**
	 * As tables.get answers. `numRows` is zero for a view and doesn't count the streaming buffer
	 * (cloud.google.com/bigquery/docs/reference/rest/v2/tables#resource:-table).
	 */
	async read(reference: TableReference): Promise<BigQueryTable> {
		return this.alone(async () => {
			const table = this.require(reference);
			const [[rows] = []] =
				table.type === "TABLE"
					? await this.sql(`SELECT count(*) FROM ${this.sqlName(reference)}`)
					: [["0"]];
			const { estimatedRows = "0" } = table.streamingBuffer ?? {};
			return {
				...table,
				numRows: String(Number(rows) - Number(estimatedRows)),
			};
		});
	}

	/** So many of the table's rows came by streaming and aren't stored with the others yet. */
	setStreamed(reference: TableReference, rows: number): void {
		this.require(reference).streamingBuffer = { estimatedRows: String(rows) };
	}

	tableNames(): string[] {
		return [...this.#tables.keys()];
	}

	createTable(table: BigQueryTable): Promise<BigQueryTable> {
		return this.alone(() => this.#create(table));
	}

	async #create(table: BigQueryTable): Promise<BigQueryTable> {
		requireKnown(table, creatable, "table");
		const { view } = table;
		const reference = table.tableReference;
		const location = this.requireDataset(reference.datasetId);
		if (!/^[\w-]{1,1024}$/.test(reference.tableId))
			throw invalid(`Invalid table ID "${reference.tableId}".`);
		if (this.find(reference)) throw duplicate(`Table ${idOf(reference)}`);
		requireValid(table, location);
		if (Number(table.expirationTime ?? Infinity) < Date.now())
			throw invalid("Expiration time must be in the future");
		const made: BigQueryTable = {
			...this.#withExpiration(table),
			type: view ? "VIEW" : "TABLE",
			creationTime: String(Date.now()),
			...withKeyVersion(table),
			etag: this.#nextEtag(),
		};
		if (view) made.schema = { fields: await this.#makeView(reference, view) };
		else await this.makeRows(made);
		this.#tables.set(idOf(reference), made);
		return made;
	}

	/** As tables.patch: a schema may have new columns, and must have all that are there (cloud.google.com/bigquery/docs/managing-table-schemas). */
	changeTable(
		reference: TableReference,
		changes: Partial<BigQueryTable>,
		ifMatch: string | undefined,
	): Promise<BigQueryTable | undefined> {
		return this.alone(async () => {
			const { schema: { fields: before = [] } = {} } = this.require(reference);
			const { fields: after = before } = changes.schema ?? {};
			const gone = before.find(
				({ name, type }) =>
					!after.some((field) => field.name === name && field.type === type),
			);
			if (gone)
				throw invalid(
					`Provided Schema does not match Table. Field ${gone.name} is missing in new schema`,
				);
			const changed = this.patchTable(reference, changes, ifMatch);
			const { type, view } = changes.view ? this.require(reference) : {};
			if (view && type !== "VIEW")
				throw invalid(`Table ${idOf(reference)} is not a view`);
			if (changed && view) {
				const fields = await this.#makeView(reference, view);
				this.setFields(reference, fields);
				return this.require(reference);
			}
			for (const { name, type } of changed ? after : [])
				if (!before.some((field) => field.name === name))
					await this.run(
						`ALTER TABLE ${this.sqlName(reference)} ADD COLUMN ${quoteName(name)} ${duckType(type)}`,
					);
			return changed;
		});
	}

	/** cloud.google.com/bigquery/docs/reference/rest/v2/datasets#Dataset.FIELDS.default_partition_expiration_ms */
	#withExpiration(table: BigQueryTable): BigQueryTable {
		const { timePartitioning, expirationTime, tableReference } = table;
		const { defaultTableExpirationMs, defaultPartitionExpirationMs } =
			this.defaults.get(tableReference.datasetId) ?? {};
		if (timePartitioning && defaultPartitionExpirationMs)
			return {
				...table,
				timePartitioning: {
					expirationMs: defaultPartitionExpirationMs,
					...timePartitioning,
				},
			};
		if (!defaultTableExpirationMs || expirationTime != null) return table;
		const atMs = Date.now() + Number(defaultTableExpirationMs);
		return { ...table, expirationTime: String(atMs) };
	}

	patchTable(
		reference: TableReference,
		changes: Partial<BigQueryTable>,
		ifMatch: string | undefined,
	): BigQueryTable | undefined {
		const table = this.require(reference);
		this.#requireRate(reference);
		if (ifMatch !== undefined && ifMatch !== table.etag) return undefined;
		requireKnown(changes, patchable, "table");
		const labels = { ...table.labels, ...changes.labels };
		const { expirationTime, ...rest } = { ...table, ...changes };
		const changed: BigQueryTable = {
			...rest,
			...(expirationTime != null && { expirationTime }),
			...(Object.keys(labels).length > 0 && { labels }),
			...withKeyVersion(changes),
			etag: this.#nextEtag(),
		};
		requireValid(changed, this.requireDataset(reference.datasetId));
		requireKeyChange(table, changed);
		this.#tables.set(idOf(reference), changed);
		return this.require(reference);
	}

	/** cloud.google.com/bigquery/quotas#standard_tables */
	#requireRate(reference: TableReference): void {
		const { count, withinMs } = this.tableUpdates;
		const now = Date.now();
		const recent = (this.#updatedAt.get(idOf(reference)) ?? []).filter(
			(at) => at > now - withinMs,
		);
		if (recent.length >= count)
			throw new Fault(
				403,
				"rateLimitExceeded",
				"Exceeded rate limits: too many table update operations for this table.",
			);
		this.#updatedAt.set(idOf(reference), [...recent, now]);
	}

	deleteTable(reference: TableReference): Promise<void> {
		return this.alone(() => this.#delete(reference));
	}

	/** With a decorator, deletes one partition (cloud.google.com/bigquery/docs/managing-partitioned-tables#delete_a_partition). */
	async #delete(reference: TableReference): Promise<void> {
		const table = this.require(reference);
		const date = partitionOf(reference.tableId);
		if (date === undefined) {
			this.#tables.delete(idOf(reference));
			this.access.delete(idOf(reference));
			const kind = table.type === "VIEW" ? "VIEW" : "TABLE";
			await this.run(`DROP ${kind} ${this.sqlName(reference)}`);
			return;
		}
		const deleted = await this.run(
			`DELETE FROM ${this.sqlName(reference)} WHERE ${onPartition(table, date)}`,
		);
		if (deleted === 0) throw notFound(`Table ${idOf(table.tableReference)}$`);
	}

	/** Changes the columns in a table's metadata. */
	setFields(reference: TableReference, fields: BigQueryField[]): void {
		const table = this.require(reference);
		table.schema = { fields };
		table.etag = this.#nextEtag();
	}

	/** In place of all that it has. */
	setLabels(
		reference: TableReference,
		labels: BigQueryTable["labels"] = {},
	): void {
		const table = this.require(reference);
		table.labels = labels;
		table.etag = this.#nextEtag();
	}

	/**
	 * What WRITE_TRUNCATE of a whole table takes away beside its columns' settings: row access policies might not be preserved
	 * (cloud.google.com/bigquery/docs/reference/auditlogs/rest/Shared.Types/BigQueryAuditMetadata.WriteDisposition), and
	 * constraints are removed (reference of JobConfigurationLoad, writeDisposition).
	 */
	truncateMetadata(reference: TableReference): void {
		const { tableConstraints: _, ...table } = this.require(reference);
		this.#tables.set(idOf(reference), table);
		const { roles = [] } = this.access.get(idOf(reference)) ?? {};
		this.access.set(idOf(reference), { roles, rowAccessPolicies: [] });
	}

	/**
	 * A query that can't be run makes no view (cloud.google.com/bigquery/docs/views). Without useLegacySql: false it is one of
	 * legacy SQL (reference of the resource Table, ViewDefinition).
	 */
	async #makeView(
		reference: TableReference,
		view: NonNullable<BigQueryTable["view"]>,
	): Promise<BigQueryField[]> {
		const {
			query,
			useLegacySql = true,
		}: { query: string; useLegacySql?: boolean } = view;
		if (useLegacySql) throw invalid("Only GoogleSQL is known here");
		const name = this.sqlName(reference);
		try {
			await this.run(`CREATE OR REPLACE VIEW ${name} AS ${this.sqlOf(query)}`);
		} catch (error) {
			throw new Fault(400, "invalidQuery", (error as Error).message);
		}
		const columns = await this.sql(
			`SELECT column_name, column_type FROM (DESCRIBE ${name})`,
		);
		return columns.map(([column, type]) => ({
			name: String(column),
			type: bigQueryType(String(type)),
		}));
	}

	async makeRows({ tableReference, schema }: BigQueryTable): Promise<void> {
		const columns = (schema?.fields ?? []).map(
			({ name, type }) => `${quoteName(name)} ${duckType(type)}`,
		);
		if (columns.length === 0) throw invalid("A table must have a schema here");
		await this.run(
			`CREATE OR REPLACE TABLE ${this.sqlName(tableReference)} (${columns.join(", ")})`,
		);
	}

	/**
	 * GoogleSQL by DuckDB's functions of the same meaning. A query finds what row access policies let the account see, and DML needs
	 * all rows (cloud.google.com/bigquery/docs/using-row-level-security-with-features#dml).
	 */
	sqlOf(query: string): string {
		const isQuery = query.startsWith("SELECT");
		const seen = (reference: TableReference) => {
			const name = this.sqlName(reference);
			const { filter } = this.access.get(idOf(reference)) ?? {};
			if (filter === undefined) return name;
			if (isQuery) return `(SELECT * FROM ${name} WHERE ${filter})`;
			throw new Fault(
				403,
				"accessDenied",
				"Access Denied: row access policies",
			);
		};
		return query
			.replace(/"(?:[^"\\]|\\.)*"/g, (text) => quoteText(JSON.parse(text)))
			.replaceAll("TO_JSON_STRING(", "(")
			.replaceAll("TO_HEX(SHA256(", "(sha256(")
			.replaceAll("REGEXP_CONTAINS(", "regexp_matches(")
			.replaceAll(
				/`([\w-]+)\.([\w-]+)\.([\w-]+)`/g,
				(_, projectId, datasetId, tableId) =>
					seen({ projectId, datasetId, tableId }),
			)
			.replaceAll("`", '"');
	}

	sqlName({ datasetId, tableId }: TableReference): string {
		return `${quoteName(datasetId)}.${quoteName(tableOf(tableId))}`;
	}

	#nextEtag(): string {
		return `etag-${++this.#changes}`;
	}
}

export function duckType(type: string): string {
	const known = types[type];
	if (!known) throw invalid(`Invalid value for type: ${type}`);
	return known;
}

/** BigQuery's type for a column of DuckDB's. */
export function bigQueryType(type: string): string {
	const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(type) ?? [];
	// cloud.google.com/bigquery/docs/loading-data-cloud-storage-parquet#decimal_logical_type
	if (precision !== undefined)
		return Number(precision) - Number(scale) <= 29 && Number(scale) <= 9
			? "NUMERIC"
			: "BIGNUMERIC";
	return (
		Object.entries(types).find(([, duck]) => duck === type)?.[0] ?? "BYTES"
	);
}

/** The date of a decorator `$YYYYMMDD`, as YYYY-MM-DD. */
export function partitionOf(tableId: string): string | undefined {
	const [, decorator] = tableId.split("$");
	if (decorator === undefined) return undefined;
	const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)$/.exec(decorator) ?? [];
	if (!year) throw invalid(`Invalid partition decorator "${decorator}"`);
	return `${year}-${month}-${day}`;
}

/** A condition on a table's rows. */
export function onPartition(table: BigQueryTable, date: string): string {
	const { type, field } = table.timePartitioning ?? {};
	if (type !== "DAY" || field === undefined)
		throw invalid(
			`Cannot use a partition decorator with the table ${idOf(table.tableReference)}, which is not partitioned by day`,
		);
	return `${quoteName(field)} = DATE ${quoteText(date)}`;
}

function idOf({ datasetId, tableId }: TableReference): string {
	return `${datasetId}.${tableOf(tableId)}`;
}

function tableOf(tableId: string): string {
	return tableId.split("$")[0]!;
}

const creatable = [
	"tableReference",
	"view",
	"description",
	"labels",
	"schema",
	"timePartitioning",
	"requirePartitionFilter",
	"clustering",
	"encryptionConfiguration",
	"expirationTime",
	"friendlyName",
	"maxStaleness",
	"defaultCollation",
	"defaultRoundingMode",
	"tableConstraints",
	"resourceTags",
];
/** What a change may name. The ETag is output only (reference of the resource Table), and Google's client for Node sends it. */
const patchable = [
	...creatable.filter((name) => name !== "tableReference"),
	"etag",
];

/** Answers name the version of the key, as Terraform's provider for Google reads them (resource_bigquery_table). */
function withKeyVersion({
	encryptionConfiguration: { kmsKeyName } = {},
}: Partial<BigQueryTable>): Pick<BigQueryTable, "encryptionConfiguration"> {
	if (kmsKeyName === undefined) return {};
	return {
		encryptionConfiguration: {
			kmsKeyName: `${kmsKeyName}/cryptoKeyVersions/1`,
		},
	};
}
