import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { quoteText } from "../../packages/duckdb/quoting.ts";
import { Session } from "../../packages/duckdb/session.ts";
import {
	comparedDates,
	LostRows,
	requireNoneLost,
	type UnrecordedDate,
	writeIDs,
} from "./lost-rows.ts";

const [first, second] = ["2026-03-01", "2026-03-02"] as const;
const uuid = "0199aaaa-0000-7000-8000-000000000001";

let directory: string;
let session: Session;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "lost-rows-"));
	session = await Session.inMemory({}, new AbortController().signal);
});
afterAll(async () => {
	session.close();
	await rm(directory, { recursive: true });
});

test("ids are read of the newest dates, of at most a million rows in all", () => {
	const days = [9, 600_000, 600_000, 400_000, 1_000_001].map((rows, index) => ({
		date: `2026-03-0${index + 1}`,
		rows,
	}));
	expect(comparedDates(days).map(({ date }) => date)).toEqual([
		"2026-03-04",
		"2026-03-03",
	]);
	expect(comparedDates(days.slice(0, 1))).toEqual(days.slice(0, 1));
});

test("one answer's ids go to the files of their dates", async () => {
	const days = [first, second].map((date) => ({
		date,
		file: join(directory, `${date}.ids`),
	}));
	const asked: string[] = [];
	const read = async function* (query: string) {
		asked.push(query);
		yield ["a", "20260302"] as const;
		yield [null, "20260302"] as const;
		yield ["b", "20260302"] as const;
		yield ["c", "20260228"] as const;
	};
	await writeIDs(read, ["one", "two"], days);
	expect(asked).toEqual(["one", "two"]);
	const texts = await Promise.all(
		days.map(({ file }) => readFile(file, "utf8")),
	);
	const lines = `{"id":"a"}\n{"id":"b"}\n`;
	expect(texts).toEqual(["", lines + lines]);
});

/** What the comparison finds of a date with these ids, whose objects are `a` and `b`, when a day has these objects. */
async function comparing(
	ids: readonly string[],
	...objects: ("a" | "b")[]
): Promise<{ found: Promise<void>; unrecorded: Set<UnrecordedDate> }> {
	const file = join(directory, `${first}.ids`);
	const read = async function* () {
		for (const id of ids) yield [id, "20260301"] as const;
	};
	await writeIDs(read, ["query"], [{ date: first, file }]);
	const stored = await Promise.all(
		objects.map(async (key) => {
			const file = join(directory, `${key}.parquet`);
			await session.run(
				`COPY (SELECT ${quoteText(`id-${key}`)} AS event_id) TO ${quoteText(file)}`,
			);
			return { key, url: "", rows: 1, bytes: 1, file };
		}),
	);
	const keys = new Set(["a", "b"]);
	const about = { table: "orders", date: first, rows: ids.length, left: 2 };
	const unrecorded = new Set([{ ...about, keys, file }]);
	const day = { objects: stored };
	return { found: requireNoneLost(day, unrecorded, session), unrecorded };
}

test("a day with a part of its date's objects says nothing of the date's rows", async () => {
	const { found, unrecorded } = await comparing(["id-a", "id-c"], "b");
	await found;
	expect(unrecorded.size).toBe(1);
});

test("a day with all of its date's objects is compared once, and names an event that none of them has", async () => {
	const all = await comparing(["id-a", "id-b"], "a", "b");
	await all.found;
	expect(all.unrecorded.size).toBe(0);
	const lost = await comparing(["id-a", "hers@shop", uuid], "a", "b");
	const error = await lost.found.catch((error) => error);
	expect(error).toBeInstanceOf(LostRows);
	expect(error.day).toMatchObject({ date: first, lost: 2, example: uuid });
	expect(lost.unrecorded.size).toBe(0);
});

test("an id that isn't of Tidemill's form is never named", async () => {
	const { found } = await comparing(["hers@shop"], "a", "b");
	const { day } = await found.catch((error) => error);
	expect(day).toMatchObject({ lost: 1 });
	expect(JSON.stringify(day)).not.toContain("hers");
});
