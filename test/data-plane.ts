import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { CutRecord } from "../ingest/archive/cut.ts";
import { freePort } from "../local/ports.ts";
import { answersOk } from "../local/probe.ts";
import { ArchiveFixture } from "./archive-fixture.ts";
import { type Servers, startServers } from "./archive-servers.ts";
import { startReceiver, TestRoutes, untilReady } from "./receiver.ts";
import {
	startServer,
	type TestServer,
	temporaryDirectory,
} from "./test-server.ts";

/** receive and two archives of one shard, all as processes, with a NATS and an S3 gateway of their own. */
export interface DataPlane {
	archive: ArchiveFixture;
	/** Where a Source without authorization receives. */
	url: string;
	/** What can be killed, stopped and started. */
	parts: Record<string, TestServer>;
	/** All rows of all objects. */
	rows(): Promise<PlainRow[]>;
	/** All cut records of the shard's stream, in order. */
	cuts(): Promise<CutRecord[]>;
	stop(): Promise<void>;
}

export interface PlainRow {
	event_id: string;
	/** MD5 of the body. */
	digest: string;
	date: string;
	/** The UTC date of the row's timestamp. */
	received: string;
}

export async function startDataPlane(): Promise<DataPlane> {
	const servers = await startServers();
	const archive = await ArchiveFixture.open(servers);
	const routes = new TestRoutes(archive.connection);
	const { path } = await routes.add();
	await routes.markSynced();
	const receiver = await startReceiver(servers.nats);
	await untilReady(receiver);
	const archives = await Promise.all([
		startArchive("archive-a", archive.env()),
		startArchive("archive-b", archive.env()),
	]);
	const parts = {
		nats: servers.nats,
		s3: servers.s3,
		receive: receiver,
		"archive-a": archives[0],
		"archive-b": archives[1],
	};
	return {
		archive,
		url: receiver.url + path,
		parts,
		rows: () => readRows(servers, archive.prefix),
		cuts: async () => {
			const cuts: CutRecord[] = [];
			const { store, keys, stream } = archive;
			for await (const { key } of store.list(keys.cutsOfStream(stream)))
				cuts.push(JSON.parse((await store.get(key))!));
			return cuts;
		},
		stop: async () => {
			for (const each of [receiver, ...archives]) await each.stop();
			await servers.stop();
		},
	};
}

async function startArchive(
	name: string,
	settings: Record<string, string>,
): Promise<TestServer> {
	const port = await freePort();
	const directory = await temporaryDirectory(name);
	const bin = new URL("../bin/tidemill.ts", import.meta.url).pathname;
	return startServer(
		{
			name,
			command: process.execPath,
			args: [bin, "archive"],
			env: {
				...settings,
				ARCHIVE_SCRATCH: join(directory, "scratch"),
				HEALTH_PORT: String(port),
			},
			isReady: () => answersOk(`http://127.0.0.1:${port}/healthz`),
			stopTimeoutMs: 30_000,
		},
		directory,
	);
}

async function readRows({ s3 }: Servers, prefix: string): Promise<PlainRow[]> {
	const objects = join(s3.bucketDirectory, prefix, "events/*/*/*/*.parquet");
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		const reader = await connection.runAndReadAll(
			`SELECT event_id, md5(body) AS digest, date::VARCHAR AS date, strftime(timestamp AT TIME ZONE 'UTC', '%Y-%m-%d') AS received FROM read_parquet('${objects}', hive_partitioning = false)`,
		);
		return reader.getRowObjectsJson() as unknown as PlainRow[];
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}
