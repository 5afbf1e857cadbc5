import { expect, test } from "vitest";
import { bigQueryErrors as rules } from "../../../../packages/warehouses/bigquery/definition.ts";
import {
	bigQueryErrors,
	refusalOf,
	wordsOfPipeline,
} from "../bigquery-errors.ts";

test.each(bigQueryErrors)(
	"$reason: the Pipeline says the reason, BigQuery's own words unless they may quote events, and what to do",
	(error) => {
		const words = wordsOfPipeline(error, "orders-1");
		const said =
			error.reason === "invalidQuery" ? "HTTP status 400" : error.message;
		expect(words).toContain(`(${error.reason}): ${said}. `);
		expect(words.endsWith(rules[refusalOf(error).code].advice)).toBe(true);
	},
);
