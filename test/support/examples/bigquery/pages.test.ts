import { expect, test } from "vitest";
import { bigQueryErrors as rules } from "../../../../packages/warehouses/bigquery/errors.ts";
import {
	bigQueryErrors,
	refusalOf,
	wordsOfPipeline,
} from "../bigquery-errors.ts";

test.each(bigQueryErrors)(
	"$reason: the Pipeline says the reason, BigQuery's own words and what to do",
	(error) => {
		const words = wordsOfPipeline(error, "orders-1");
		expect(words).toContain(`(${error.reason}): ${error.message}. `);
		expect(words.endsWith(rules[refusalOf(error).code].advice)).toBe(true);
	},
);
