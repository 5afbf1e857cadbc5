import {
	DiscardPolicy,
	PersistMode,
	RetentionPolicy,
	StorageType,
	type StreamConfig,
} from "@nats-io/jetstream";
import { expect, test } from "vitest";
import { serverFaults, streamFaults } from "./stream-inspection.ts";

const safe = {
	name: "s",
	storage: StorageType.File,
	retention: RetentionPolicy.Limits,
	discard: DiscardPolicy.New,
	max_age: 0,
	max_msgs: -1,
	max_msgs_per_subject: -1,
	max_msg_size: -1,
	max_bytes: 1e9,
	duplicate_window: 300e9,
} as StreamConfig;

test("a stream that keeps everything has no faults", () => {
	expect(streamFaults(safe)).toEqual([]);
});

test.each<[keyof StreamConfig, unknown]>([
	["storage", StorageType.Memory],
	["retention", RetentionPolicy.Workqueue],
	["discard", DiscardPolicy.Old],
	["max_age", 1],
	["max_msgs", 1],
	["max_msgs_per_subject", 1],
	["max_msg_size", 1_048_576],
	["duplicate_window", 120e9],
	["persist_mode", PersistMode.Async],
	["no_ack", true],
	["sealed", true],
	["deny_purge", true],
	["subject_transform", { dest: "x" }],
])("a stream with %s %j has a fault that names the setting", (field, value) => {
	const [fault, ...others] = streamFaults({ ...safe, [field]: value });
	expect(others).toEqual([]);
	expect(fault).toContain(`stream s: `);
	expect(fault).toContain(field);
});

const server = { version: "2.15.0", max_payload: 8 * 1024 * 1024 };
const syncing = {
	server: { name: "n1" },
	data: { config: { sync_always: true } },
};

test("a server that syncs every write has no faults", () => {
	expect(
		serverFaults(server, [syncing, { server: { name: "leaf" }, data: {} }]),
	).toEqual([]);
});

test("a server that doesn't report syncing every write has a fault", () => {
	expect(serverFaults(server, []).join()).toContain("$SYS.REQ.SERVER.PING.JSZ");
	expect(
		serverFaults(server, [
			syncing,
			{ server: { name: "n2" }, data: { config: {} } },
		]).join(),
	).toContain("server n2: set jetstream.sync_interval to always");
});

test("a server that is too old, or whose max_payload is smaller than a frame, has a fault", () => {
	expect(
		serverFaults({ ...server, version: "2.14.9" }, [syncing]).join(),
	).toContain("2.15");
	expect(
		serverFaults({ ...server, max_payload: 1_048_576 }, [syncing]).join(),
	).toContain("max_payload is 1048576");
});
