import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { expect } from "vitest";
import { openRefusedStream } from "../../../../ingest/archive/refused-stream.ts";
import { CompactionStore } from "../../../../ingest/lake/compaction/record.ts";
import type { Erasure } from "../../../../packages/contracts/archive.ts";
import {
	type AddedLedger,
	addedKey,
	type SourceLedger,
} from "../../../../packages/contracts/ledger.ts";
import type { Manifest } from "../../../../packages/contracts/manifest.ts";
import { bucket, refused } from "../../../../packages/contracts/nats.ts";
import { readArchivedRows } from "../../../support/examples/archived-rows.ts";
import { eventually } from "../../../support/fixtures/data-plane/archive-fixture.ts";
import { leaveParts } from "../../../support/fixtures/data-plane/imported-events.ts";
import type { SeenRequest } from "../../../support/proxies/s3-proxy.ts";
import { ada, type KillScene } from "./kill-scene.ts";
import { expectWhole, type Operation, ofArchive } from "./killed-archive.ts";
import { loadOf } from "./killed-load.ts";

/*
 * What processes do of which a kill must leave nothing half, and the steps that it takes, as seen from outside. A row here is all that
 * test/faults/data-plane/kills-*.test.ts need to try it.
 */

const put =
	(folder: string, end = "") =>
	(request: SeenRequest) =>
		request.method === "PUT" &&
		request.path.includes(`/${folder}/`) &&
		request.path.endsWith(end);
const isOutput = ({ path }: SeenRequest) => path.includes("/compacted-");
/** Of many objects: an old snapshot of the ledger goes alone. */
const isRemoval = ({ method, query, headers }: SeenRequest) =>
	method === "POST" &&
	query.has("delete") &&
	Number(headers["content-length"]) > 1_000;

const ok = async <Answer extends { ok: boolean }>(answer: Promise<Answer>) => {
	const given = await answer;
	if (!given.ok) throw new Error(JSON.stringify(given));
	return given as Extract<Answer, { ok: true }>;
};

const release = (scene: KillScene, operation: string = scene.operation) =>
	ok(scene.archive.askRelease({ operation }));

async function ledgerOf<Ledger>(scene: KillScene, key: string) {
	const kv = await new Kvm(scene.archive.connection).open(bucket.ledger);
	return (await kv.get(key))?.json<Ledger>();
}

/** Of a compaction of events, or of those in quarantine, on the date before yesterday. */
function compactionOf(kind: "events" | "quarantine"): Operation {
	const isQuarantine = kind === "quarantine";
	const records = isQuarantine ? "quarantine-compactions" : "compactions";
	const folderOf = (scene: KillScene) => ({
		...scene.shop,
		date: scene.dateOf(2),
		...(isQuarantine && { quarantined: true as const }),
	});
	const isOf = (request: SeenRequest) => request.path.includes(`/${kind}/`);
	const recordOf = (scene: KillScene) =>
		new CompactionStore(scene.archive.store).of(folderOf(scene));
	const age = async (scene: KillScene) => {
		const { servers, store } = scene.archive;
		const key = store.keys.compaction(folderOf(scene));
		const seconds = Date.now() / 1000 - 2 * 86_400;
		await utimes(join(servers.s3.bucketDirectory, key), seconds, seconds);
	};
	return ofArchive({
		env: {
			ARCHIVE_COMPACTION_INTERVAL_MS: "100",
			ARCHIVE_COMPACTION_MIN_OBJECTS: "2",
		},
		...(!isQuarantine && { usual: ["stores the output", "after"] as const }),
		steps: {
			"reads an object": [
				(request) =>
					request.method === "GET" && isOf(request) && !isOutput(request),
				3,
			],
			"stores the output": (request) =>
				request.method === "PUT" && isOf(request) && isOutput(request),
			"reads the output": (request) =>
				request.method === "GET" && isOf(request) && isOutput(request),
			"records it": put(records),
			"removes what was replaced": isRemoval,
		},
		prepare: (scene) => scene.inPeace(8),
		async beforeEach(scene, step) {
			// An output is read only when another compactor has written it, and removed only when the record is old.
			if (step === "removes what was replaced") {
				if (!(await recordOf(scene)))
					await scene.killAt(put(records), "after", 1, () => delay(50));
				await age(scene);
			}
			if (step === "reads the output")
				await scene.killAt(
					(request) =>
						request.method === "PUT" && isOf(request) && isOutput(request),
					"after",
					1,
					() => delay(50),
				);
		},
		async ask(scene) {
			await delay(50);
			expect((await recordOf(scene))?.outputs).toHaveLength(1);
		},
		tags: ({ sent }) => sent.rows,
		async check(scene) {
			await release(scene);
			await expectWhole(scene, [...scene.sent.rows, ...scene.sent.apart]);
			// The archive that works knows when the record was written.
			await scene.end();
			await age(scene);
			scene.start();
			const { store } = scene.archive;
			const folder = store.keys.eventsOfDate(folderOf(scene));
			await eventually(async () =>
				expect(await Array.fromAsync(store.list(folder))).toHaveLength(1),
			);
			await expectWhole(scene, [...scene.sent.rows, ...scene.sent.apart]);
		},
	});
}

function erasureOf(
	which: (scene: KillScene) => Erasure,
	usual?: Operation["usual"],
): Operation {
	let former: Manifest | undefined;
	return ofArchive({
		...(usual && { usual }),
		steps: {
			"says that it is asked": ({ method, path }) =>
				method === "PUT" && path.includes("/asked/"),
			"replaces an object": [
				({ method, path }) =>
					method === "PUT" &&
					/\/(events|quarantine|releases|early)\/.*parquet/.test(path),
				2,
			],
			"keeps compaction out": put("compactions"),
			"says what of a date is erased": ({ method, path }) =>
				method === "PUT" &&
				path.includes("/erasures/") &&
				path.includes("/dates/"),
			"says that it is done": ({ method, path }) =>
				method === "PUT" && path.includes("/done/"),
		},
		async prepare(scene) {
			const { archive, shop, sent } = scene;
			await scene.inPeace(2, async () => {
				const start = scene.dateOf(0);
				await ok(
					archive.askRelease({ operation: "released", start, end: start }),
				);
				former = await scene.manifest();
				await openRefusedStream(archive.connection, 1);
			});
			// What an Import has left, a file, a refused request, and what is in no cut yet.
			const part = scene.event("part", 1, false, ada);
			await leaveParts(archive, shop, "an-import", [part]);
			sent.rows.pop();
			const upload = archive.store.keys.upload("shop", "ab".repeat(32));
			await archive.store.putNew(upload, ada, "text/plain");
			const subject = refused.subject("shop", shop.sourceKey);
			const body = JSON.stringify({ bodyHead: ada });
			await jetstream(archive.connection).publish(subject, body);
			await scene.publishFrames(1);
		},
		ask: (scene) => ok(scene.archive.askErasure(scene.operation, which(scene))),
		tags: ({ sent, adas }) =>
			[
				...sent.rows,
				// Those of the last frame were not there to be released.
				...sent.apart.filter((tag) => tag.startsWith("apart 0")).slice(0, -2),
			].filter((tag) => !adas.has(tag)),
		async check(scene) {
			for (const [key, bytes] of await scene.objects()) {
				// What is to be erased is among what is asked, and among what a Run is told.
				if (/\/(erasures|runs)\//.test(key)) continue;
				const text = key.endsWith(".parquet")
					? JSON.stringify(await readArchivedRows(bytes))
					: bytes.toString("latin1");
				expect(text, key).not.toContain(ada);
			}
			const again = scene.manifest({ run: former!.run });
			await expect(again).rejects.toThrow("ManifestOutdated");
			// A compactor may have read the date before.
			const folder = { ...scene.shop, date: scene.dateOf(2) };
			const record = await new CompactionStore(scene.archive.store).of(folder);
			expect(record).toMatchObject({ outputs: [] });
		},
	});
}

const neighbour = "0b".repeat(16);

export const operations: Record<string, Operation> = {
	"a cut": ofArchive({
		// Each frame becomes a cut of its own.
		env: { ARCHIVE_MAX_BYTES: "1" },
		usual: ["stores an object", "after"],
		steps: {
			"records it": [put("cuts"), 2],
			"stores an object": [put("events"), 4],
			"says that its objects are there": {
				nats: `PUB $KV.${bucket.objectsDone}.tidemill-frames-`,
			},
			"purges its frames": { nats: "$JS.API.STREAM.PURGE.tidemill-frames-" },
			"publishes the ledger": { nats: `PUB $KV.${bucket.ledger}.` },
		},
		prepare: async () => undefined,
		beforeEach: (scene) => scene.publishFrames(2),
		async ask({ archive }) {
			await delay(50);
			expect(await archive.streamState()).toMatchObject({ messages: 0 });
		},
		tags: ({ sent }) => sent.rows,
		async check(scene) {
			const { archive, sent } = scene;
			const tagsIn = async (folder: "events" | "quarantine") =>
				(await archive.rows(folder)).map(({ body }) => JSON.parse(body).tag);
			expect((await tagsIn("events")).sort()).toEqual(sent.rows.toSorted());
			expect((await tagsIn("quarantine")).sort()).toEqual(
				sent.apart.toSorted(),
			);
			await eventually(async () => {
				const ledger = await ledgerOf<SourceLedger>(scene, archive.sourceKey);
				const counted = Object.values(ledger?.archived ?? {});
				expect(counted.reduce((sum, rows) => sum + rows, 0)).toBe(
					sent.rows.length,
				);
			});
		},
	}),
	"a compaction": compactionOf("events"),
	"a compaction of quarantine": compactionOf("quarantine"),
	"a release": ofArchive({
		usual: ["records it", "after"],
		steps: {
			"stores an object": [put("releases", ".parquet"), 2],
			"records it": [put("releases", ".json"), 2],
			"counts what was released": {
				nats: `PUB $KV.${bucket.ledger}.released.`,
			},
		},
		prepare: (scene) => scene.inPeace(2),
		ask: (scene) => release(scene),
		tags: ({ sent }) => [...sent.rows, ...sent.apart],
		async check(scene) {
			const { dates } = await release(scene, "another");
			expect(dates).toEqual([]);
			const key = addedKey(scene.archive.sourceKey);
			const ledger = await ledgerOf<AddedLedger>(scene, key);
			const counted = Object.values(ledger!.released);
			const events = counted.reduce((sum, { events }) => sum + events, 0);
			expect(events).toBe(scene.sent.apart.length);
		},
	}),
	"an Import": ofArchive({
		usual: ["records it", "after"],
		steps: {
			"stores an object": [put("releases", ".parquet"), 2],
			"records it": [put("releases", ".json"), 2],
		},
		prepare: (scene) =>
			scene.inPeace(1, async () => {
				const { archive, operation, shop } = scene;
				// As operator does, for the Job that leaves the parts.
				await scene.manifest({ run: operation, report: true });
				const events = [1, 3].map((ago) => scene.event(`import ${ago}`, ago));
				await leaveParts(archive, shop, operation, events);
			}),
		ask: ({ archive, operation }) =>
			ok(archive.askImport({ operation, parts: 1 })),
		tags: ({ sent }) => sent.rows,
	}),
	"an erasure by a value": erasureOf(
		() => ({
			mode: "RemoveRow",
			match: { bodyPointer: "/customer/name", equals: ada },
		}),
		["replaces an object", "after"],
	),
	"an erasure by ids": erasureOf(({ adasIDs }) => ({
		mode: "RemoveRow",
		eventIDs: adasIDs,
	})),
	"a Source's deletion": ofArchive({
		usual: ["leaves a tombstone", "after"],
		steps: {
			"leaves a tombstone": put("deleted"),
			"tells the others": put("deletions"),
			"removes its objects": isRemoval,
		},
		prepare: (scene) =>
			scene.inPeace(3, async () => {
				const other = { ...scene.event("theirs", 0), sourceKey: neighbour };
				await scene.archive.publish([other]);
				scene.sent.rows.pop();
			}),
		async ask({ archive }) {
			const { isDone } = await ok(archive.askDeletion());
			if (!isDone) throw new Error("some is left");
		},
		tags: () => [],
		async check(scene) {
			const { sourceKey } = scene.archive;
			for (const key of (await scene.objects()).keys())
				if (/\/(events|quarantine|releases|lists|dates)\//.test(key))
					expect(key).not.toContain(sourceKey);
			await eventually(async () => {
				const rows = await scene.archive.rows();
				const tags = rows.map(({ body }) => JSON.parse(body).tag);
				expect(tags).toEqual(["theirs"]);
			});
			expect(await ledgerOf(scene, sourceKey)).toHaveProperty("deletedTime");
		},
	}),
	"a load that replaces days of a DuckDB table": loadOf(false),
	"a load that adds to a DuckDB table": loadOf(true),
};
