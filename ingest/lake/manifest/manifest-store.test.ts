import { randomUUID } from "node:crypto";
import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ManifestDate } from "../../../packages/contracts/manifest.ts";
import { addDays } from "../../../packages/contracts/utc-date.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { CompactionStore } from "../compaction/record.ts";
import { ManifestObjects } from "./manifest-objects.ts";
import { ManifestStore, type UnsignedManifest } from "./manifest-store.ts";

/** A bucket whose objects are files, which may be larger than any text. */
async function fileStore() {
	const folder = await mkdtemp(join(tmpdir(), "tidemill-manifests-"));
	onTestFinished(() => rm(folder, { recursive: true, force: true }));
	const files = new Map<string, string>();
	const store = Object.assign(new MemoryStore(), {
		putNewFile: async (key: string, file: string) => {
			if (files.has(key)) return "exists" as const;
			const path = join(folder, randomUUID());
			await copyFile(file, path);
			files.set(key, path);
			return "created" as const;
		},
		getFile: async (key: string, file: string) => {
			const path = files.get(key);
			if (path !== undefined) await copyFile(path, file);
			return path;
		},
	});
	const scratch = join(folder, "scratch");
	const objects = new ManifestObjects({
		store,
		replaced: new CompactionStore(store),
	});
	const newStore = () => new ManifestStore({ store, scratch }, objects);
	return { store, newStore, files, scratch };
}

const inAnHourMs = Date.now() + 3_600_000;

function manifestOf(
	run: string,
	dates: AsyncIterable<ManifestDate>,
): UnsignedManifest {
	return {
		version: 1,
		run,
		account: "shop",
		sourceKey: "5a".repeat(16),
		snapshotTime: "2026-03-20T12:00:00.000Z",
		closedThrough: "2026-03-19",
		expiresAt: new Date(inAnHourMs).toISOString(),
		asked: { extent: "Whole" },
		dates,
	};
}

async function* daysOf(
	count: number,
	objectsOfDay: number,
	link: string,
): AsyncGenerator<ManifestDate> {
	for (let day = 0; day < count; day++)
		yield {
			date: addDays("2026-01-01", day),
			rows: 2 * objectsOfDay,
			objects: Array.from({ length: objectsOfDay }, (_, number) => ({
				key: `events/${day}/${number}`,
				url: link,
				rows: 2,
				bytes: 10,
			})),
		};
}

test("a Run's manifest is what was written first, whoever reads it, and nothing is left on the disk", async () => {
	const { newStore, scratch } = await fileStore();
	const [own, other] = [newStore(), newStore()];
	expect(await own.newest("run")).toBeUndefined();
	const made = await own.create(manifestOf("run", daysOf(3, 2, "https://a")));
	expect(made.named).toEqual({
		dates: ["2026-01-01", "2026-01-02", "2026-01-03"],
		rows: 12,
		objects: 6,
		bytes: 60,
	});
	const late = await other.create(manifestOf("run", daysOf(1, 1, "https://b")));
	expect(late).toEqual(made);
	expect(await other.newest("run")).toEqual(made);
	expect(await Array.fromAsync(other.datesOf(late))).toEqual(
		await Array.fromAsync(daysOf(3, 2, "https://a")),
	);
	const renewed = await own.renew(made, inAnHourMs + 3_600_000);
	expect(renewed).toMatchObject({ named: made.named, signing: 2 });
	expect(await other.newest("run")).toEqual(renewed);
	const links = (await Array.fromAsync(own.datesOf(renewed))).flatMap(
		({ objects }) => objects.map(({ key, url }) => url === `memory:${key}`),
	);
	expect(links).toEqual(Array(6).fill(true));
	expect(await readdir(scratch)).toEqual([]);
});

test("an archive whose folder for files is gone, as after a restart, reads a manifest", async () => {
	const { newStore, scratch } = await fileStore();
	const made = await newStore().create(
		manifestOf("run", daysOf(2, 1, "https://a")),
	);
	await rm(scratch, { recursive: true });
	expect(await newStore().newest("run")).toEqual(made);
	await rm(scratch, { recursive: true });
	expect(await Array.fromAsync(newStore().datesOf(made))).toHaveLength(2);
});

test("a date that fails writes no manifest", async () => {
	const { newStore, scratch, files } = await fileStore();
	const days = async function* () {
		yield* daysOf(1, 1, "https://a");
		throw new Error("an object is missing");
	};
	await expect(newStore().create(manifestOf("run", days()))).rejects.toThrow(
		"an object is missing",
	);
	expect([...files]).toEqual([]);
	expect(await readdir(scratch)).toEqual([]);
});

test("memory holds a few dates of a manifest, however many links it has", async () => {
	const { newStore } = await fileStore();
	const manifests = newStore();
	const link = `https://s3.example/${"x".repeat(700)}`;
	const signed = await manifests.create(
		manifestOf("run", daysOf(200, 100, link)),
	);
	expect(signed.named.dates).toHaveLength(200);
	expect(signed.named.objects).toBe(20_000);
	expect(Object.keys(signed.manifest)).not.toContain("dates");
	for await (const { date } of manifests.datesOf(signed)) {
		expect(date).toBe("2026-01-01");
		break;
	}
});
