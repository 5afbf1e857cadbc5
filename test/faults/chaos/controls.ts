import type { Control } from "../../controls/edit.ts";
import type { Fault, PointMoment } from "./plan.ts";
import type { ClockPart } from "./scene/clock.ts";
import type { Check } from "./scene/violation.ts";

/** A control that the suite of seeds finds, too. */
export interface ChaosControl extends Control {
	/** What shows it: all of them come at once. */
	faults: Fault[];
	/** The checks that may find it. */
	red: Check[];
}

/** An archive dies before its objects are there, while the other is away. */
const bothArchivesDie: Fault[] = [
	{ kind: "kill", part: "archive-b", forMs: 1_500, at: { acknowledged: 1 } },
	{
		kind: "kill",
		part: "self",
		forMs: 0,
		at: { point: "object", when: "before", nth: 4 },
	},
];

const writeObjects = `		await writer.write(shard, cut, groups);
`;
const setObjectsDone = `		const isFull = await unlessFull(true, setObjectsDone);
`;

export const controls: ChaosControl[] = [
	{
		name: "receive answers before the PubAck",
		file: "ingest/receive/commit/committer.ts",
		find: "		const outcome = await this.#options.publish(frame);\n",
		replace: `		for (const event of frame.isAnswered ? [] : frame.events) event.answerStored();
		frame.isAnswered = true;
		const outcome = await this.#options.publish(frame);
`,
		faults: [
			{
				kind: "kill",
				part: "self",
				forMs: 0,
				at: { point: "publish", when: "before", nth: 10 },
			},
		],
		seenBy: {
			file: "ingest/receive/commit/committer.test.ts",
			test: "a publish of unknown outcome is repeated",
		},
		red: ["once"],
	},
	{
		name: "archive says that objects are done before it PUTs them",
		file: "ingest/archive/session.ts",
		find: writeObjects + setObjectsDone,
		replace: setObjectsDone + writeObjects,
		faults: bothArchivesDie,
		seenBy: {
			file: "test/faults/data-plane/archive-crashes.laptop.test.ts",
			test: "an archive that dies",
		},
		red: ["once"],
	},
	{
		name: "archive purges before the objects are there",
		file: "ingest/archive/session.ts",
		find: writeObjects,
		replace: `		const manager = await jetstreamManager(connection, { checkAPI: false });
		await manager.streams.purge(cut.stream, { seq: cut.last + 1 });
		await writer.write(shard, cut, groups);
`,
		faults: bothArchivesDie,
		seenBy: {
			file: "test/faults/data-plane/archive-crashes.laptop.test.ts",
			test: "an archive that dies",
		},
		red: ["once"],
	},
	{
		name: "archive says that objects are done before it PUTs those in quarantine",
		file: "ingest/archive/session.ts",
		find: writeObjects + setObjectsDone,
		replace: `		await writer.write(shard, cut, groups.filter(({ group }) => !group.quarantined));
${setObjectsDone}		await writer.write(shard, cut, groups.filter(({ group }) => group.quarantined));
`,
		// Not each cut has events in quarantine, and on a slow machine few have.
		faults: [
			bothArchivesDie[0]!,
			...[1, 2, 3, 4, 5, 6, 7, 8].map((nth) =>
				killed({ point: "objects-done", when: "after", nth }),
			),
		],
		seenBy: {
			file: "test/faults/data-plane/archive-crashes.laptop.test.ts",
			test: "an archive that dies",
		},
		red: ["once"],
	},
	{
		name: "receive writes all Sources to one shard",
		file: "ingest/receive/webhook-request.ts",
		find: "		this.#receiver.shards[this.#route!.shard]!.add(this);\n",
		replace: "		this.#receiver.shards[0]!.add(this);\n",
		// So that a table is compared.
		faults: [killed({ point: "load", when: "before", nth: 1 })],
		seenBy: {
			file: "ingest/receive/webhook-request.test.ts",
			test: "in its Source's shard",
		},
		red: ["table"],
	},
	{
		name: "the frame doesn't say which events are in quarantine",
		file: "ingest/wire/frame.ts",
		find: "(event.quarantined ? quarantinedBit : 0);",
		replace: "0;",
		faults: [],
		seenBy: {
			file: "ingest/wire/frame.test.ts",
			test: "a frame with a quarantined event",
		},
		red: ["validated"],
	},
	{
		name: "objects have random names",
		file: "ingest/archive/write/cut-writer.ts",
		find: "this.#store.keys.events(group, cut.stream, cut.first);",
		replace:
			'this.#store.keys.events(group, cut.stream + "-" + Math.random(), cut.first);',
		faults: [
			{
				kind: "kill",
				part: "self",
				forMs: 0,
				at: { point: "object", when: "after", nth: 2 },
			},
		],
		seenBy: {
			file: "test/faults/data-plane/archive-crashes.laptop.test.ts",
			test: "an archive that dies",
		},
		red: ["once"],
	},
	{
		name: "there is no cut record",
		file: "ingest/archive/write/cut-store.ts",
		find: `		const written = await this.#store.putNew(key, text, "application/json");
`,
		replace: '		const written = text ? "created" : "exists";\n',
		faults: bothArchivesDie,
		seenBy: {
			file: "ingest/archive/write/cut-store.test.ts",
			test: "of two archivers that make the same cut",
		},
		red: ["once", "alarm", "cuts"],
	},
	{
		name: "the cut record has no frame numbers",
		file: "ingest/archive/decide/cut.ts",
		find: "		processes: forgetSilent(processes, lastFrame.timeMs),\n",
		replace: "		processes: {},\n",
		faults: [{ kind: "forgotten", nth: 5 }],
		seenBy: {
			file: "ingest/archive/decide/cut.test.ts",
			test: "a frame stored again",
		},
		red: ["once"],
	},
	{
		name: "the stream is taken for the one that was cut",
		file: "ingest/archive/decide/resume.ts",
		find: "	if (lastSequence < cut.last)\n",
		replace: "	if (lastSequence < 0)\n",
		faults: [{ kind: "restore", acknowledged: 10, isOvertaken: false }],
		seenBy: { file: "ingest/archive/decide/resume.test.ts", test: "alarm" },
		red: ["alarm"],
	},
	{
		name: "manifests don't follow compaction records",
		file: "ingest/lake/manifest/manifest-objects.ts",
		find: "visibleObjects(objects, nameOf, record);",
		replace: "visibleObjects(objects, nameOf, undefined);",
		faults: [killed({ point: "record", when: "after", nth: 1 })],
		seenBy: {
			file: "ingest/lake/compaction/replaced-objects.test.ts",
			test: "each reader finds the same objects",
		},
		red: ["objects"],
	},
	{
		name: "what a compaction replaces goes before its record stands",
		file: "ingest/lake/compaction/date-compaction.ts",
		find: "		return { name, rows, bytes, sha256, inputs, inputTimes };\n",
		replace: `		const { store } = this.#options;
		await store.remove(inputs.map((input) => store.keys.eventsOfDate(this.#due) + input));
		return { name, rows, bytes, sha256, inputs, inputTimes };
`,
		faults: [killed({ point: "record", when: "before", nth: 1 })],
		// No manifest has all events any longer.
		seenBy: {
			file: "ingest/lake/compaction/date-compaction.test.ts",
			test: "stay until the record",
		},
		red: ["table"],
	},
	{
		name: "manifests forget the shards that a Source was in",
		file: "ingest/lake/request/shares.ts",
		find: "unitedShards([own.number], known, source.shards ?? [])",
		replace: "unitedShards([own.number])",
		faults: [{ kind: "move", source: 1, after: [5] }],
		seenBy: {
			file: "ingest/lake/request/shares.test.ts",
			test: "each shard that may hold its events",
		},
		red: ["manifest"],
	},
	{
		name: "receive believes its clock",
		file: "ingest/receive/commit/event-clock.ts",
		find: "	return Math.abs(aheadMs) <= maxClockDifferenceMs ? dateMs : undefined;\n",
		replace: "	return Number.isNaN(aheadMs) ? undefined : dateMs;\n",
		faults: [wrongFor2s(["receive"], 72)],
		seenBy: { file: "ingest/receive/commit/event-clock.test.ts" },
		red: ["date"],
	},
	{
		name: "archive keeps what a clock that was ahead has said",
		file: "ingest/archive/write/nats-progress.ts",
		find: "laterInstant(current.archivedThrough, next, Date.now()) === next &&\n",
		replace: "current.archivedThrough <= next &&\n",
		faults: [wrongFor2s(["receive", "nats", "archive-a", "archive-b"], 1)],
		seenBy: {
			file: "ingest/archive/write/nats-progress.test.ts",
			test: "a time of the future",
		},
		red: ["ledger"],
	},
	{
		name: "senders' keys are the shard's",
		file: "ingest/receive/commit/claims.ts",
		find: "		const key = entryKey(account, digest);\n",
		replace: "		const key = entryKey(account, digest + shard);\n",
		faults: [{ kind: "move", source: 1, after: [5] }],
		seenBy: { file: "ingest/receive/commit/claims.test.ts" },
		red: ["keys"],
	},
	{
		name: "receive doesn't say what a stream that is gone held",
		file: "ingest/receive/commit/left-frames.ts",
		find: "			this.#notes.push({ value: leftValue(left) });\n",
		replace: "			void leftValue(left);\n",
		faults: [lostDisk(20, 1)],
		seenBy: {
			file: "test/protocols/streams-left.test.ts",
			test: "exactly the frames that were lost",
		},
		red: ["told"],
	},
	{
		name: "losses that were told aren't told to a NATS that begins anew",
		file: "ingest/archive/ledger/shard-ledger.ts",
		find: "		this.#publishedLosses = undefined;\n",
		replace: "",
		faults: [lostDisk(20, 1), lostDisk(0, 90)],
		seenBy: {
			file: "ingest/archive/ledger/shard-ledger.test.ts",
			test: "a NATS that has lost its disk",
		},
		red: ["told"],
	},
	{
		name: "archive tells NATS before it makes room",
		file: "ingest/archive/session.ts",
		find: "		if (!isMore || !isNoRoom(error)) throw error;\n",
		replace: "		if (isMore || isNoRoom(error)) throw error;\n",
		faults: [{ kind: "full-jetstream", forMs: 100, at: { acknowledged: 10 } }],
		seenBy: {
			file: "test/faults/data-plane/full-buffer.all.test.ts",
			test: "empties a buffer",
			race: "nothing on a laptop fills a JetStream",
		},
		red: ["archived"],
	},
	{
		name: "receive doesn't say that NATS takes no frames",
		file: "ingest/receive/commit/shard-writer.ts",
		find: "		const text = this.#room?.full ?? this.#publisher.failure;\n",
		replace: "		const text = this.#room?.full;\n",
		faults: [
			{
				kind: "fill",
				part: "nats",
				forMs: 100,
				at: { acknowledged: 10 },
			},
		],
		seenBy: {
			file: "test/faults/data-plane/full-disk.all.test.ts",
			race: "it takes a disk that only root makes",
		},
		red: ["told"],
	},
	{
		name: "receive answers 404 while a cluster is restored",
		file: "ingest/receive/request/route-table.ts",
		find: "		return !this.#served.isSynced || this.#served.isRestoring;\n",
		replace: "		return !this.#served.isSynced;\n",
		faults: [{ kind: "emptied-etcd", forMs: 100, at: { acknowledged: 10 } }],
		seenBy: {
			file: "ingest/receive/request/route-table.test.ts",
			test: "while a cluster is restored",
		},
		red: ["route"],
	},
	{
		name: "a manifest leaves out what the bucket has lost",
		file: "ingest/lake/manifest/manifest-objects.ts",
		find: '		if (missing)\n			throw new RequestFailure(\n				"ObjectMissing",',
		replace:
			'		if (missing && !missing)\n			throw new RequestFailure(\n				"ObjectMissing",',
		faults: [{ kind: "lost-object", nth: 1, adds: false }],
		seenBy: {
			file: "test/data-plane/archive-manifests.laptop.test.ts",
			test: "is named, not left out",
		},
		red: ["told"],
	},
	{
		name: "a Run takes what the bucket has lost from the table",
		file: "ingest/load/load.ts",
		find: "		const { held, shrinking } = await looking;\n",
		replace:
			"		const { held } = await looking;\n		const shrinking: ShrinkingDay[] = [];\n",
		faults: [{ kind: "lost-day", nth: 1, adds: false }],
		seenBy: {
			file: "test/data-plane/warehouses/duckdb.laptop.test.ts",
			test: "rows stay that no object in the bucket",
		},
		red: ["table"],
	},
	{
		name: "an accepted bucket's events are counted as those of the one before",
		file: "ingest/archive/write/nats-progress.ts",
		find: "				if (!ledger.archived) return undefined;\n",
		replace: "				if (ledger) return undefined;\n",
		// A Source that moves has no more events in the shard whose counts are too high.
		faults: [
			{ kind: "move", source: 1, after: [60] },
			{ kind: "older-bucket", acknowledged: 1, adds: true },
		],
		seenBy: {
			file: "ingest/archive/write/nats-progress.test.ts",
			test: "that a person has accepted",
		},
		red: ["ledger"],
	},
];

function lostDisk(backlog: number, acknowledged: number): Fault {
	return { kind: "lost-disk", backlog, at: { acknowledged } };
}

function killed(at: PointMoment): Fault {
	return { kind: "kill", part: "self", forMs: 0, at };
}

function wrongFor2s(parts: ClockPart[], hours: number): Fault {
	const at = { acknowledged: 10 };
	return { kind: "clock", parts, hours, forMs: 2_000, at };
}
