import { DuckDBInstance } from "@duckdb/node-api";
import pino from "pino";
import { expect, test } from "vitest";
import { type JobResult, maxLogBytes } from "../../packages/contracts/job.ts";
import { Session } from "../../packages/duckdb/session.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import { type JobContext, LogEnd, perform } from "./process.ts";

/** What a Job that ends with an error leaves: its result and its log. */
async function ended(work: () => Promise<unknown>) {
	const logEnd = new LogEnd();
	const log = pino({}, logEnd);
	const { signal } = new AbortController();
	let result: JobResult | undefined;
	const left: unknown[] = [];
	// What a trace and the objects in the bucket get: there is no other way out of a Job.
	const trace = {
		loads: () => undefined,
		ended: async (code: string | undefined) => void left.push(code),
	} as unknown as NonNullable<JobContext["trace"]>;
	const about = { log, logEnd, signal, trace };
	await perform("operation", about, async (onResult) => {
		onResult(async (stored, words) => {
			result = stored;
			left.push(stored, words);
		});
		await work();
		throw new Error("It succeeded");
	});
	if (result?.outcome !== "Failed") throw new Error("No result");
	return {
		error: result.error,
		left: [...left.map((one) => JSON.stringify(one)), logEnd.last(maxLogBytes)],
	};
}

const inDuckDB = (sql: string) => async () => {
	const session = await Session.open(
		await DuckDBInstance.create(":memory:"),
		new AbortController().signal,
	);
	try {
		await session.rows(sql);
	} finally {
		session.close();
	}
};

test.each<[string, () => Promise<unknown>, code: string, words: RegExp]>([
	[
		"JSON.parse, which quotes the text",
		async () => JSON.parse("MARKED"),
		"Unexpected",
		/^An error that nobody expected: SyntaxError, at \S+:\d+\. /,
	],
	[
		"Node, which quotes what it was given",
		async () => new URL("MARKED"),
		"Unexpected",
		/^An error that nobody expected: TypeError \(ERR_INVALID_URL\)/,
	],
	[
		"DuckDB, which quotes a value",
		inDuckDB("SELECT 'MARKED'::INTEGER"),
		"Unexpected",
		/^An error that nobody expected: DuckDB's Conversion Error/,
	],
	[
		"a function in DuckDB, which quotes a text",
		inDuckDB("SELECT error('MARKED')"),
		"Unexpected",
		/^An error that nobody expected: DuckDB's Invalid Input Error/,
	],
	[
		"DuckDB, whose words a value makes those of memory",
		inDuckDB("SELECT 'MARKED bad_alloc'::DATE"),
		"OutOfMemory",
		/^Memory wasn't enough: DuckDB's Conversion Error\. /,
	],
	[
		"a warehouse, behind a failure that says what happened",
		async () => {
			const cause = Object.assign(new Error("MARKED\n    at MARKED"), {
				detail: "MARKED",
				code: "23514",
			});
			throw new JobFailure("RowsRefused", "x refuses rows", { cause });
		},
		"RowsRefused",
		/^x refuses rows\. /,
	],
])(
	"an error of %s, leaves no word of it in the result, the log, what of both is in the bucket, and the trace",
	async (_, work, code, words) => {
		const { error, left } = await ended(work);
		expect(error).toMatchObject({
			code,
			message: expect.stringMatching(words),
		});
		expect(left).toHaveLength(4);
		for (const text of left) expect(text).not.toContain("MARKED");
		// Where it happened is for those who mend it.
		expect(left.at(-1)).toMatch(/"stack":"at /);
	},
);
