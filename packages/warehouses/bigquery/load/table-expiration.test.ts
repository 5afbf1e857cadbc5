import { expect, test } from "vitest";
import { defaultExpiration, tableExpiration } from "./table-options.ts";

const ms = (days: number) => String(days * 86_400_000);

test.each([
	[{}, undefined],
	[
		{ defaultTableExpirationMs: ms(60) },
		"deletes a table, with all its days, 60 days after it was created.",
	],
	[
		{ defaultPartitionExpirationMs: ms(1) },
		"deletes a day 1 day after its date.",
	],
	[
		{
			defaultTableExpirationMs: ms(60),
			defaultPartitionExpirationMs: ms(0.5),
		},
		"deletes a day 0.5 days after its date, and a table without Date, with all its days, 60 days after it was created.",
	],
])("the defaults of a dataset are told: %j", (defaults, words) => {
	const said = defaultExpiration({ location: "EU", ...defaults });
	if (words === undefined) expect(said).toBeUndefined();
	else expect(said).toContain(words);
});

test("a table's expirations are told, but for the one that the Pipeline chose", () => {
	const table = {
		tableReference: { projectId: "p", datasetId: "d", tableId: "t" },
		timePartitioning: { type: "DAY", field: "date", expirationMs: ms(60) },
	};
	expect(tableExpiration(table, undefined)).toContain(
		"BigQuery deletes a day 60 days after its date.",
	);
	expect(tableExpiration(table, 60)).toBeUndefined();
	const expirationTime = String(Date.UTC(2030, 0, 2));
	expect(tableExpiration({ ...table, expirationTime }, 60)).toContain(
		"BigQuery deletes the table on 2030-01-02.",
	);
});
