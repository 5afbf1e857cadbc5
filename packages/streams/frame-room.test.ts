import type { StreamInfo } from "@nats-io/jetstream";
import { expect, test } from "vitest";
import { frameRoom, reserveOf, type StoreState } from "./frame-room.ts";

const mib = 1024 ** 2;

function stream(
	bytes: number,
	maxBytes: number,
	holders?: string[],
): Parameters<typeof frameRoom>[0] {
	return {
		config: { max_bytes: maxBytes, num_replicas: holders?.length ?? 1 },
		state: { bytes },
		...(holders && {
			cluster: {
				leader: holders[0],
				replicas: holders.slice(1).map((name) => ({ name })),
			},
		}),
	} as unknown as StreamInfo;
}

function server(name: string, storage: number, max_storage?: number) {
	return {
		server: { name },
		data: { storage, ...(max_storage && { config: { max_storage } }) },
	};
}

function account(storage: number, max_storage: number): StoreState["account"] {
	return { storage, limits: { max_storage } } as StoreState["account"];
}

test("a stream has the room of its own limit while JetStream has more", () => {
	const room = frameRoom(stream(10 * mib, 64 * mib), {
		servers: [server("n0", 10 * mib, 1024 * mib), server("leaf", 0)],
		account: account(10 * mib, -1),
	});
	expect(room).toMatchObject({ bytes: 54 * mib, full: undefined });
	expect(room.isScarce).toBe(false);
	expect(frameRoom(stream(1, -1)).bytes).toBe(Infinity);
});

test("a twentieth of each server's store is kept for archive, 16 MiB at least, and never more than half", () => {
	expect(reserveOf(1000 * mib)).toBe(50 * mib);
	expect(reserveOf(100 * mib)).toBe(16 * mib);
	expect(reserveOf(24 * mib)).toBe(12 * mib);
});

test("the fullest server that holds the stream decides, and what it says names it", () => {
	const servers = [
		server("n0", 10 * mib, 1000 * mib),
		server("n1", 960 * mib, 1000 * mib),
		server("n2", 999 * mib, 1000 * mib),
	];
	const store = { servers, account: undefined };
	const of = (holders: string[]) =>
		frameRoom(stream(mib, 2000 * mib, holders), store);
	expect(of(["n0"])).toMatchObject({ bytes: 940 * mib, full: undefined });
	const full = of(["n0", "n1"]);
	expect(full.bytes).toBe(-10 * mib);
	expect(full.full).toContain(
		"server n1 (max_file_store) holds 960 of 1000 MiB",
	);
	expect(of(["n0", "n1", "n2"]).full).toContain("server n2");
});

test("an account's limit is of all copies together", () => {
	const servers = [server("n0", 0, 1000 * mib)];
	const store = { servers, account: account(600 * mib, 1000 * mib) };
	const room = frameRoom(stream(0, -1, ["n0", "n1", "n2"]), store);
	expect(room.bytes).toBeCloseTo((350 * mib) / 3);
	const fuller = { servers, account: account(951 * mib, 1000 * mib) };
	expect(frameRoom(stream(0, -1), fuller).full).toContain("account");
});

test("room is scarce when the reserve is all that else is left", () => {
	const of = (used: number) =>
		frameRoom(stream(0, -1), {
			servers: [server("n0", used * mib, 1000 * mib)],
			account: undefined,
		});
	expect(of(899).isScarce).toBe(false);
	expect(of(901)).toMatchObject({ isScarce: true, full: undefined });
});
