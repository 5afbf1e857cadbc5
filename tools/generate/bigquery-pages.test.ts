import { expect, test } from "vitest";
import { jobErrors } from "../../packages/warehouses/load/failure.ts";
import {
	bigQueryErrors,
	refusalOf,
	wordsOfPipeline,
} from "../../test/support/examples/bigquery-errors.ts";

test.each(bigQueryErrors)(
	"$reason: the Pipeline says the reason, BigQuery's own words and what to do",
	(error) => {
		const words = wordsOfPipeline(error, "orders-1");
		expect(words).toContain(`(${error.reason}): ${error.message}. `);
		expect(words.endsWith(jobErrors[refusalOf(error).code].advice)).toBe(true);
	},
);
