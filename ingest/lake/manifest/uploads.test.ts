import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { objectKeys } from "../../../packages/bucket/object-keys.ts";
import type { ListedObject } from "../../../packages/bucket/object-store.ts";
import {
	maxGivenLinks,
	maxUploadedFiles,
} from "../../../packages/contracts/transfer.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { Uploads } from "./uploads.ts";

const gib = 1024 ** 3;
const keys = objectKeys("");
const seconds = 3_600;

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
	vi.useRealTimers();
});

/** Files that are as long as it is told. */
class SizedStore extends MemoryStore {
	readonly sizes = new Map<string, number>();

	override async *list(prefix: string): AsyncGenerator<ListedObject> {
		for await (const object of super.list(prefix))
			yield { ...object, bytes: this.sizes.get(object.key) ?? 0 };
	}

	async upload(sha256: string, bytes: number): Promise<void> {
		const key = keys.upload("shop", sha256);
		this.sizes.set(key, bytes);
		await this.putNew(key, "");
	}
}

const digest = (number: number) => String(number).padStart(64, "0");
const files = (first: number, count: number, bytes = gib) =>
	Array.from({ length: count }, (_, i) => ({
		sha256: digest(first + i),
		bytes,
	}));

function uploading() {
	const store = new SizedStore();
	// Each archive has its own.
	const ask = (asked: ReturnType<typeof files>, account = "shop") =>
		new Uploads(store).links({ account, files: asked }, seconds);
	return { store, ask };
}

test("links that nobody has used count for their account, until nobody can use them", async () => {
	const { ask } = uploading();
	expect(await ask(files(0, 10))).toHaveLength(10);
	await expect(ask(files(10, 1, 1))).rejects.toMatchObject({
		code: "UploadsTooLarge",
	});
	// The same files need no more room.
	expect(await ask(files(0, 10))).toHaveLength(10);
	expect(await ask(files(10, 1), "bank")).toHaveLength(1);
	vi.advanceTimersByTime(seconds * 1000 + 1);
	await expect(ask(files(10, 1, 1))).rejects.toThrow("files with links");
	vi.advanceTimersByTime(seconds * 1000);
	expect(await ask(files(10, 10))).toHaveLength(10);
});

test("links that were given while a clock was ahead count no longer than others", async () => {
	const { ask } = uploading();
	const now = Date.now();
	vi.setSystemTime(now + 3 * 86_400_000);
	await ask(files(0, 10));
	vi.setSystemTime(now);
	expect(await ask(files(10, 10))).toHaveLength(10);
});

test("a file counts once, before it comes and after, as the longest that its links take", async () => {
	const { store, ask } = uploading();
	await ask(files(0, 1));
	await ask(files(0, 1, 1));
	await store.upload(digest(0), 1);
	await expect(ask(files(1, 10))).rejects.toThrow(`${11 * gib} bytes`);
	const [, ...others] = await ask(files(0, 10));
	expect(others.every(({ link }) => link !== undefined)).toBe(true);
	for (const { sha256, bytes } of files(0, 10))
		await store.upload(sha256, bytes);
	const again = await ask(files(0, 10));
	expect(again.every(({ link }) => link === undefined)).toBe(true);
});

test("requests at once get no more than one after the other", async () => {
	const { ask } = uploading();
	const answers = await Promise.allSettled(
		Array.from({ length: 30 }, (_, i) => ask(files(i, 1))),
	);
	const given = answers.filter(({ status }) => status === "fulfilled");
	expect(given).toHaveLength(10);
});

test("a number that was taken and removed again is none, so no link is forgotten", async () => {
	const { store, ask } = uploading();
	await ask(files(0, 4));
	const { putNew } = store;
	store.putNew = async (...put) => {
		store.putNew = putNew;
		await ask(files(4, 4));
		await ask(files(8, 2));
		return store.putNew(...put);
	};
	await expect(ask(files(10, 1))).rejects.toThrow(`${11 * gib} bytes`);
});

test("what an account keeps in the bucket by asking is bounded", async () => {
	const { store, ask } = uploading();
	for (let i = 0; i < maxGivenLinks; i += 100) await ask(files(i, 100, 1));
	await expect(ask(files(maxGivenLinks, 1, 1))).rejects.toMatchObject({
		code: "UploadsTooLarge",
	});
	expect(store.objects.size).toBe(1);
});

test("an account has a bounded number of files, since each request lists them", async () => {
	const { store, ask } = uploading();
	for (const { sha256 } of files(0, maxUploadedFiles - 1, 1))
		store.objects.set(keys.upload("shop", sha256), "");
	expect(await ask(files(maxUploadedFiles, 1, 1))).toHaveLength(1);
	await expect(ask(files(maxUploadedFiles + 1, 1, 1))).rejects.toThrow(
		"10001 uploaded files and files with links, and 10000 are allowed",
	);
	expect(await ask(files(0, 1, 1))).toHaveLength(1);
});

test("records of links have names that another version's archive lists in the same order", async () => {
	const { store, ask } = uploading();
	await ask(files(0, 1));
	const name = "uploads/links/account=shop/00000000000000000001.json";
	expect([...store.objects.keys()]).toEqual([name]);
});
