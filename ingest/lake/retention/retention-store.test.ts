import { expect, test } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { type RetentionRecord, RetentionStore } from "./source-retention.ts";

const source = { account: "shop", sourceKey: "k" };
const record: RetentionRecord = {
	version: 1,
	...source,
	days: 400,
	from: "2026-01-01",
};

/** Before a listed record is read, something happens, so many times. */
class BusyStore extends MemoryStore {
	times = 0;
	happens = async () => {};

	override async get(key: string): Promise<string | undefined> {
		if (this.times-- > 0) await this.happens();
		return super.get(key);
	}
}

async function busyStore(times: number) {
	const store = new BusyStore();
	const retentions = new RetentionStore(store);
	await retentions.write(1, record);
	let number = 1;
	store.times = times;
	store.happens = async () => {
		number++;
		await retentions.write(number, record);
	};
	return { store, retentions };
}

test.each([1, 3])(
	"a record that a newer one replaces between the list and the read isn't a deleted source, even %d times in a row",
	async (times) => {
		const newest = { number: times + 1, record };
		const one = await busyStore(times);
		expect(await one.retentions.of(source)).toMatchObject(newest);
		const all = await busyStore(times);
		expect(await all.retentions.all()).toMatchObject([newest]);
	},
);

test("records have names that another version's archive lists in the same order", async () => {
	const store = new MemoryStore("tidemill");
	await new RetentionStore(store).write(1, record);
	const name = "tidemill/retention/account=shop/source=k/000000000001.json";
	expect([...store.objects.keys()]).toEqual([name]);
});

test("a record whose number was taken and removed again doesn't count: another one came first", async () => {
	const retentions = new RetentionStore(new MemoryStore("tidemill"));
	await retentions.write(2, record);
	await retentions.write(3, { ...record, days: 500 });
	expect(await retentions.write(2, record)).toBe(false);
	expect(await retentions.of(source)).toMatchObject({ record: { days: 500 } });
});

test("a source whose records keep changing is an error, so that no sweep takes it for deleted", async () => {
	const { retentions } = await busyStore(1_000);
	await expect(retentions.all()).rejects.toThrow("keep changing");
});

test("a source that is deleted between the list and the read has no retention", async () => {
	const { store, retentions } = await busyStore(1);
	store.happens = () => store.remove([...store.objects.keys()]);
	expect(await retentions.all()).toEqual([]);
});
