// In make test: ingest/lake/objects/parquet-size.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import { DateCompaction } from "../../ingest/lake/compaction/date-compaction.ts";
import {
	OutOfMemory,
	ParquetRewriter,
} from "../../ingest/lake/objects/parquet-rewriter.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";
import { newEvent } from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	CompactionFixture,
	closedMs,
	dateOf,
	loadedBodies,
} from "../support/fixtures/data-plane/compaction-fixture.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

test("bodies of a megabyte become outputs of what DuckDB can sort, and one alone stays as it is", async () => {
	const fixture = await CompactionFixture.open(servers, 0);
	const { archive, running, signal } = fixture;
	const { sourceKey } = archive;
	// Seven to an object, and four such to an output of 32 MiB.
	for (let cut = 0; cut < 9; cut++)
		await archive.publish(
			Array.from({ length: 7 }, (_, n) => {
				const body = JSON.stringify(`${cut} ${n} ${"x".repeat(1_000_000)}`);
				return newEvent(body, { sourceKey, receivedAtMs: closedMs });
			}),
		);
	await running.flush();
	const before = await loadedBodies(await fixture.manifest());
	await fixture.compactor().look(Date.now(), signal);
	const { outputs } = (await fixture.record())!;
	expect(outputs.map(({ rows }) => rows)).toEqual([28, 28]);
	const after = await fixture.manifest();
	expect(dateOf(after).objects).toHaveLength(3);
	const same = (await loadedBodies(after)).every((b, i) => b === before[i]);
	expect(same).toBe(true);
});

test("what needs too much memory is halved until it fits", async () => {
	const fixture = await CompactionFixture.open(servers, 12);
	const { store } = fixture.archive;
	const rewriter = await ParquetRewriter.open(
		await passingDirectory("rewriter"),
		fixture.signal,
	);
	const merge = rewriter.merge.bind(rewriter);
	rewriter.merge = async (files, size) => {
		if (files.length > 3) throw new OutOfMemory("too many");
		return merge(files, size);
	};
	const idle = async () => {};
	const work = new DateCompaction({ store, rewriter, idle }, fixture.due());
	const record = await work.run();
	await rewriter.close();
	expect(record.outputs.map(({ inputs }) => inputs.length)).toEqual([
		3, 3, 3, 3,
	]);
	expect(new Set(record.outputs.flatMap(({ inputs }) => inputs)).size).toBe(12);
});
