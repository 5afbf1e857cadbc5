import { expect, test } from "vitest";
import { ConnectionTable, keepAliveMs } from "./connection-table.ts";

/** Adds connections named `<network><number>` and returns those that were closed for them. */
function addMany(
	table: ConnectionTable<string>,
	network: string,
	count: number,
	from = 0,
): string[] {
	const closed: (string | undefined)[] = [];
	for (let i = from; i < from + count; i++)
		closed.push(table.add(network + i, network));
	return closed.filter((name) => name !== undefined);
}

test("one network takes four fifths, and beyond them its longest waiting end", () => {
	const table = new ConnectionTable<string>(100);
	expect(addMany(table, "a", 80)).toEqual([]);
	table.beginRequest("a0");
	table.beginRequest("a1");
	table.endRequest("a1");
	expect(addMany(table, "a", 3, 80)).toEqual(["a2", "a3", "a4"]);
	expect(table.fill).toBe(0.8);
});

test("however many networks take all they may, the next gets places, and theirs end", () => {
	const table = new ConnectionTable<string>(1_000);
	for (let network = 0; network < 50; network++)
		addMany(table, `n${network}-`, 1_000);
	const closed = addMany(table, "quiet", 10);
	expect(closed.filter((name) => name.startsWith("quiet"))).toEqual([]);
	addMany(table, "n0-", 1_000, 1_000);
	for (let i = 0; i < 10; i++)
		expect(addMany(table, "other", 1, i)).toHaveLength(1);
});

test("a full table of many networks closes the longest waiting, never one with a request in flight", () => {
	const table = new ConnectionTable<string>(4);
	const names = ["a", "b", "c", "d"];
	for (const name of names) expect(table.add(name, name)).toBeUndefined();
	table.beginRequest("a");
	table.beginRequest("b");
	table.endRequest("b");
	expect(table.add("e", "e")).toBe("c");
	expect(table.add("f", "f")).toBe("d");
	for (const name of ["b", "e", "f"]) table.beginRequest(name);
	expect(table.add("g", "g")).toBe("g");
	table.endRequest("a");
	expect(table.add("g", "g")).toBe("a");
});

test("requests that never end fill their network's share, and close nobody's connection", () => {
	const table = new ConnectionTable<string>(100);
	addMany(table, "quiet", 3);
	const refused: string[] = [];
	for (let i = 0; i < 200; i++) {
		const name = `slow${i}`;
		const closed = table.add(name, "slow");
		if (closed !== undefined) refused.push(closed);
		table.beginRequest(name);
	}
	expect(refused.filter((name) => !name.startsWith("slow"))).toEqual([]);
	expect(refused).toHaveLength(122);
	expect(addMany(table, "quiet", 10, 3)).toEqual([]);
});

test("a trusted proxy takes every free place, and what it keeps waiting ends last", () => {
	const table = new ConnectionTable<string>(4);
	const add = (name: string) => table.add(name, undefined);
	expect(table.add("a", "a")).toBeUndefined();
	expect(["p", "q", "r"].map(add)).toEqual([undefined, undefined, undefined]);
	expect(add("s")).toBe("a");
	expect(add("t")).toBe("p");
	expect(table.add("b", "b")).toBe("q");
	expect(table.add("c", "c")).toBe("b");
});

test("a pipelined connection waits when its last request is answered", () => {
	const table = new ConnectionTable<string>(1);
	table.add("a", "a");
	table.beginRequest("a");
	table.beginRequest("a");
	table.endRequest("a");
	expect(table.add("b", "b")).toBe("b");
	table.endRequest("a");
	expect(table.add("b", "b")).toBe("a");
});

test("connections that are closed leave nothing, in whatever order things happen", () => {
	const table = new ConnectionTable<string>(8);
	const held = new Map<string, number>();
	let seed = 7;
	const next = (below: number) => {
		seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
		return Math.floor((seed / 2 ** 31) * below);
	};
	for (let i = 0; i < 20_000; i++) {
		const some = [...held.keys()][next(held.size)];
		const choice = next(4);
		if (choice === 0 || some === undefined) {
			const closed = table.add(`c${i}`, `n${next(5)}`);
			if (closed !== `c${i}`) held.set(`c${i}`, 0);
			if (closed !== undefined && closed !== `c${i}`) {
				expect(held.get(closed)).toBe(0);
				held.delete(closed);
			}
		} else if (choice === 1) {
			table.beginRequest(some);
			held.set(some, held.get(some)! + 1);
		} else if (choice === 2 && held.get(some)! > 0) {
			table.endRequest(some);
			held.set(some, held.get(some)! - 1);
		} else if (choice === 3) {
			table.remove(some);
			held.delete(some);
		}
		expect(table.fill).toBe(held.size / 8);
	}
	for (const name of held.keys()) table.remove(name);
	expect(addMany(table, "a", 6)).toEqual([]);
});

test.each([
	[0, 75_000],
	[0.5, 75_000],
	[0.75, 40_000],
	[1, 5_000],
])(
	"a table that is full to %d keeps a waiting connection %d ms",
	(fill, ms) => {
		expect(keepAliveMs(75_000, fill)).toBe(ms);
	},
);
