import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { warehouses } from "./registry.ts";

/* What the pages say of what people add to a table is what tests try: of each row here, the files and the names of some. */

const folder = "test/data-plane";
const beside = (type: string) => `${folder}/${type}-beside.all.test.ts`;
const refused = `${folder}/refused-rows.all.test.ts`;
const untouched = `${folder}/postgres-untouched.all.test.ts`;
const reload = `${folder}/postgres-reload.all.test.ts`;
const kept = `${folder}/postgres-kept.all.test.ts`;
const owners = `${folder}/postgres-owners.all.test.ts`;
const people = `${folder}/postgres-people.all.test.ts`;
const erased = `${folder}/warehouses/erased-cases.ts`;
const blank =
	"a blank row says nothing but its id, its time and its date, whoever made the table's columns";

type Tests = [file: string, ...names: string[]][];

const rows: Record<string, Record<string, Tests>> = {
	Postgres: {
		"A view on `<table>_latest`, such as dbt's, and settings of `<table>_latest`, such as `security_invoker`":
			[
				[
					kept,
					"a view of latest rows that is written anew keeps its settings, by which its readers see what they may",
					"a view of latest rows that somebody else owns stays as it is, the table is loaded, and the Run says whose it is",
				],
				[
					people,
					"a full reload keeps the grants on the view of latest rows and the views of it, and a table that isn't for Tidemill's eyes stops no Run",
				],
			],
		"A publication, with a replica identity of the table that is `FULL` or an index":
			[
				[
					beside("postgres"),
					"a table in a publication, with a replica identity %s, is loaded on: days are replaced and come",
					"a rebuild is refused while a publication names the table, or it has a policy",
					"an Erase goes on beside a publication, row security, an identity column and who reads, and gives partitions first what they lack",
				],
			],
		"Row security": [
			[
				beside("postgres"),
				"partitions of a table with row security have it, too, without FORCE and policies, and Runs go on",
				"a rebuild is refused while a publication names the table, or it has a policy",
			],
			[
				untouched,
				"an Erase of an event %s is refused where a policy applies to the user, with what to do, and done once none does",
				"a Run that empties a day ends with an error if a policy on its partition may hide rows",
			],
		],
		"A trigger": [
			[
				untouched,
				"a Run that replaces a day ends with an error if a trigger %s, and each day is the old one",
				"a Run whose rows a trigger leaves out ends with an error, also where it only adds them",
				"an Erase of a row ends with an error that names %s, and the row is as it was",
				"a Run that adds rows ends with an error if a trigger deletes them%s",
			],
			[
				kept,
				"a trigger for each statement sees an Erase if it is the table's, and Runs if it is the day's",
			],
		],
		"A rule": [
			[
				untouched,
				"a rule that does nothing instead",
				"a Run goes on beside rules of the table",
				"a rule on a day's partition that leaves a row out ends the Run with an error that names it",
			],
		],
		"An index or a constraint": [
			[refused, "a CHECK", "NOT NULL", "UNIQUE", "a foreign key", "EXCLUDE"],
			[
				kept,
				"an Erase that blanks rows ends with an error where a CHECK refuses blank ones, which it names",
			],
			[
				people,
				"a rebuilt table has the indexes and constraints of the old one, but for those of columns that it lacks",
			],
		],
		"A column": [
			[
				untouched,
				"a column of a person's has its default in the rows that come, and an Erase blanks it",
			],
			[erased, blank],
		],
		"An identity column": [
			[
				beside("postgres"),
				"an identity column numbers the rows that Runs load",
				"an Erase goes on beside a publication, row security, an identity column and who reads, and gives partitions first what they lack",
			],
		],
		"A foreign key that refers to the table, also with `ON DELETE CASCADE`": [
			[
				reload,
				"beside a foreign key with CASCADE, also columns that are filled in another way leave what refers to the rows",
			],
		],
		"An open transaction that reads the table": [
			[
				beside("postgres"),
				"while a Run waits for who reads its table, to add a column, Runs of other tables in the schema go on",
				"who holds a lock that a Run waits for in vain is named, with the table",
				"an Erase goes on beside a publication, row security, an identity column and who reads, and gives partitions first what they lack",
			],
		],
		"A partition of another role, such as pg_partman's, or a sequence of a default":
			[
				[
					owners,
					"a Run that changes a partition of another role is refused before anything changes, with what to grant; one of other days goes on",
					"an Erase reaches the rows of a partition that another role owns, and says what to grant of one that is detached",
					"a Run is refused where another role owns %s, and goes on by what the message says",
				],
			],
		"Partitions of a day's partition": [
			[
				untouched,
				"what a person deletes is found on a day that is partitioned further, and an Erase reaches it",
			],
		],
		"A bigger table, of which it is a partition": [
			[
				people,
				"a table that somebody has attached to a bigger one is loaded, and an Erase finds its rows",
			],
		],
		"A partition that somebody has detached": [
			[
				people,
				"an Erase reaches a partition that somebody has detached%s, and names one of an early build, and nothing else of the schema",
			],
			[
				kept,
				"an Erase finds rows of a partition that somebody has detached and renamed, and names one in another schema",
			],
		],
		"A table that inherits from it": [
			[
				kept,
				"a full reload leaves rows alone of a table that inherits from the loaded one: %s",
			],
		],
		"Row security, a policy, a trigger, a rule or a publication of a partition, or a security label":
			[
				[
					kept,
					"a rebuild is refused by what guards a partition, and by a security label",
				],
			],
		"A partition of more than a day, such as a month": [
			[
				beside("postgres"),
				"a table with monthly partitions is not adopted, and no row of it changes; a month before the Run's days is nobody's business",
			],
		],
	},
	ClickHouse: {
		"A `TTL` of the table or of a column": [
			[
				beside("clickhouse"),
				"rows that a TTL has deleted are done, and an expired row that a Run loads is gone after a merge: %s",
				"values that the TTL of a column has deleted are done, and rows that somebody deletes beside them are found",
				"an Erase goes on beside a TTL and views, and doesn't reach rows that a materialized view has itself",
			],
		],
		"A materialized view that reads the table's inserts": [
			[
				beside("clickhouse"),
				"a materialized view that a Run feeds no row is named, and one that refreshes or a view is not",
				"an Erase goes on beside a TTL and views, and doesn't reach rows that a materialized view has itself",
			],
		],
		"A row policy": [
			[
				`${folder}/clickhouse-policies.all.test.ts`,
				"an Erase and a Run are refused where a row policy hides rows, and go on where one shows all",
			],
		],
		"A `CONSTRAINT`": [[refused, "a CONSTRAINT"]],
		"A codec, a comment or a skip index": [
			[
				`${folder}/clickhouse-load.all.test.ts`,
				"a full reload keeps what people gave the table",
			],
		],
		"A detached part": [
			[
				`${folder}/clickhouse-load.all.test.ts`,
				"a part that somebody has detached is named by an Erase, which no statement finds",
			],
		],
		"A lightweight `DELETE` of somebody's": [
			[
				beside("clickhouse"),
				"rows that somebody's DELETE has marked are found, said and loaded again, and are in the files until the mask is applied",
			],
		],
		"A projection or a column that is computed": [
			[
				beside("clickhouse"),
				"beside a projection and computed columns, Runs and an Erase go on, and these say what the rows say",
			],
		],
		"A view, or a materialized view with `REFRESH EVERY`": [
			[
				beside("clickhouse"),
				"an Erase goes on beside a TTL and views, and doesn't reach rows that a materialized view has itself",
			],
		],
	},
	BigQuery: {
		"A row access policy": [
			[
				beside("bigquery"),
				"an Erase of an event %s is refused where a row access policy hides rows, and done where one shows all",
			],
			[
				`${folder}/bigquery-tables.all.test.ts`,
				"what people set on a table and its columns, and who has access to it, outlasts each Run, and a new column comes beside it (full reload: %s)",
			],
		],
		"A grant, a tag or a policy tag": [
			[
				`${folder}/bigquery-tables.all.test.ts`,
				"what people set on a table and its columns, and who has access to it, outlasts each Run, and a new column comes beside it (full reload: %s)",
				"a rebuilt table is described as before; one that people protected is not rebuilt",
			],
		],
		"A primary or a foreign key": [
			[
				`${folder}/bigquery-tables.all.test.ts`,
				"a rebuilt table is described as before; one that people protected is not rebuilt",
			],
		],
		"A description, a default value, a collation or a clustering": [
			[
				`${folder}/bigquery-tables.all.test.ts`,
				"what people set on a table and its columns, and who has access to it, outlasts each Run, and a new column comes beside it (full reload: %s)",
				"a rebuilt table is described as before; one that people protected is not rebuilt",
			],
		],
		"A column": [
			[
				beside("bigquery"),
				"a column of a person's is NULL in the rows that come, and an Erase blanks it",
			],
		],
		"A view, also one on `<table>_latest`": [
			[
				`${folder}/warehouses/latest-view-cases.ts`,
				"a view that people built on the view of latest rows ends no Run: new columns come beside its own, and where it holds the view, the Run says so",
			],
		],
		"An expiration": [
			[
				`${folder}/bigquery-tables.all.test.ts`,
				"expirations that a dataset gives its tables are told by the check and by each Run, unless the Pipeline chose one",
			],
		],
	},
	DuckDB: {
		"A program that has the file open": [
			[
				`${folder}/destination-busy.all.test.ts`,
				"a load that doesn't get the file says who has it, and is retryable",
			],
		],
		"A view": [
			[
				beside("duckdb"),
				"views, and columns of a person's, stop neither a Run nor an Erase",
			],
		],
		"A column": [
			[
				beside("duckdb"),
				"views, and columns of a person's, stop neither a Run nor an Erase",
			],
			[
				`${folder}/duckdb-additions.all.test.ts`,
				"columns that people have added count for nothing",
			],
		],
		"An index": [
			[
				beside("duckdb"),
				"a UNIQUE index refuses a day that is loaded again, the advice is to drop it, and no id is quoted",
				"a rebuild is refused by indexes and constraints, which a new table would lack",
			],
		],
		"A foreign key that refers to the table": [
			[
				beside("duckdb"),
				"a foreign key that refers to rows keeps them from a reload and an Erase, and a new day comes",
			],
		],
		"A `UNIQUE` index or constraint": [
			[
				beside("duckdb"),
				"a UNIQUE index refuses a day that is loaded again, the advice is to drop it, and no id is quoted",
			],
			[refused, "a UNIQUE index"],
		],
		"`NOT NULL` or a `CHECK`": [
			[refused, "NOT NULL", "a CHECK"],
			[
				beside("duckdb"),
				"a rebuild is refused by indexes and constraints, which a new table would lack",
				"an Erase that blanks rows ends with an error where a CHECK refuses blank ones",
			],
			[
				erased,
				"a row that can't be blank goes as a whole, and the Run says so",
			],
		],
	},
};

test.each([...warehouses.keys()])(
	"each row of the table on the page of %s is run by a test",
	(type) => {
		const root = join(import.meta.dirname, "../..");
		const page = readFileSync(
			join(import.meta.dirname, type.toLowerCase(), "docs.md"),
			"utf8",
		);
		const [, section = ""] = page.split("## What you may add to a table");
		const [, , ...told] = section
			.split(/\n## /)[0]!
			.split("\n")
			.filter((line) => line.startsWith("| "))
			.map((line) => line.split(" | ")[0]!.slice(2));
		const tested = rows[type] ?? {};
		expect(Object.keys(tested).toSorted()).toEqual(told.toSorted());
		for (const [file, ...names] of Object.values(tested).flat()) {
			const text = readFileSync(join(root, file), "utf8");
			for (const name of names) expect(text).toContain(JSON.stringify(name));
		}
	},
);
