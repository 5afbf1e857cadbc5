// In make test: ingest/lake/manifest/imports.test.ts
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { send } from "../support/senders/http-client.ts";
import { applyQuickstart } from "../support/senders/quickstart.ts";
import { openLocalMode } from "../support/servers/local-mode.ts";

test("files of another tool become rows of their dates, once, and an export holds them with the events that came", async () => {
	const local = await openLocalMode("moving");
	const quickstart = await applyQuickstart(local);
	const folder = await mkdtemp(join(tmpdir(), "tidemill-moving-"));
	onTestFinished(() => rm(folder, { recursive: true, force: true }));
	const scope = ["--scope", "edit"];
	const create = ["tokens", "create", "mover", ...scope];
	const token = await local.run("tidemill", ...create);
	/** With a token that may move events. */
	const tidemill = (...args: string[]) =>
		local.run(
			"sh",
			"-c",
			'TIDEMILL_API_TOKEN="$0" exec tidemill "$@"',
			token.trim(),
			...args,
		);
	const source = (await local.run("kubectl", "get", "sources", "-o", "name"))
		.trim()
		.split("/")[1]!;

	await send(quickstart.webhookURL, {
		headers: { "content-type": "application/json" },
		body: '{"order": 1}',
	});
	expect(await quickstart.runPipeline()).toBe(1);
	const longAgo = addDays(utcDate(Date.now()), -6);
	const file = join(folder, "old.ndjson");
	await writeFile(
		file,
		`{"received_at":"${longAgo}T10:00:00Z","body":{"order": 0.0}}\n`,
	);
	expect(
		await tidemill("events", "import", source, file, "--rows", "events"),
	).toBe("1 event added\n");
	expect(
		await tidemill("events", "import", source, file, "--rows", "events"),
	).toBe("0 events added, 1 stored already\n");
	const [first, next] = [
		await quickstart.tryPipeline(),
		await quickstart.tryPipeline(),
	];
	// Midnight may have passed since the event came.
	const today = utcDate(Date.now());
	// The date of the import, yesterday and today; then the last two.
	expect(first).toMatchObject({
		dates: { start: longAgo, end: today },
		dateCount: 3,
		rows: 2,
	});
	expect(next).toMatchObject({
		dates: { start: addDays(today, -1), end: today },
		dateCount: 2,
		rows: 1,
	});
	const rows = () =>
		quickstart.query("select body, date::varchar d from $table order by body");
	expect(await rows()).toEqual([
		{ body: '{"order": 0.0}', d: longAgo },
		{ body: '{"order": 1}', d: expect.any(String) },
	]);

	const out = join(folder, "out");
	const paths = await tidemill("events", "export", source, "-o", out);
	const files = paths.trim().split("\n");
	expect(files).toHaveLength(2);
	expect(await tidemill("events", "import", source, ...files)).toBe(
		"0 events added, 2 stored already\n",
	);
	await quickstart.runPipeline();
	expect(await rows()).toHaveLength(2);
});
