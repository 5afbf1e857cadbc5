// In make test: test/promises/each-event-is-one-row.laptop.test.ts
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startArchiveProcess } from "../../support/faults/archive-process.ts";
import { passingDirectory } from "../../support/faults/passing-directory.ts";
import { eventually } from "../../support/fixtures/data-plane/archive-fixture.ts";
import {
	bodiesApart,
	CompactionFixture,
	dateOf,
	loadedBodies,
} from "../../support/fixtures/data-plane/compaction-fixture.ts";
import { openLake } from "../../support/fixtures/data-plane/lake.ts";
import { loadFixture } from "../../support/fixtures/data-plane/load-fixture.ts";
import { S3Proxy, type SeenRequest } from "../../support/proxies/s3-proxy.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";
import { startTidemill } from "../../support/servers/tidemill-process.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

/** What compaction asks of the store. */
const steps = {
	"reads an object": ({ method, path }: SeenRequest) =>
		method === "GET" && /\/(events|quarantine)\//.test(path) && !isOutput(path),
	"stores the output": ({ method, path }: SeenRequest) =>
		method === "PUT" && isOutput(path),
	"reads the output": ({ method, path }: SeenRequest) =>
		method === "GET" && isOutput(path),
	"records it": ({ method, path }: SeenRequest) =>
		method === "PUT" && path.includes("compactions/"),
	// Of many objects: an old snapshot of the ledger goes alone.
	"removes what was replaced": ({ method, query, headers }: SeenRequest) =>
		method === "POST" &&
		query.has("delete") &&
		Number(headers["content-length"]) > 1_000,
};
type Step = keyof typeof steps;

function isOutput(path: string): boolean {
	return path.includes("/compacted-");
}

const compactsAtOnce = {
	ARCHIVE_COMPACTION_INTERVAL_MS: "100",
	ARCHIVE_LISTS_INTERVAL_MS: "100",
};

/**
 * Runs an archive process that compacts, until SIGKILL ends it: before or after the store carries out the nth request of
 * this step.
 */
async function runUntilKilled(
	{ archive }: CompactionFixture,
	when: "before" | "after",
	step: Step,
	nth: number,
): Promise<void> {
	const proxy = await S3Proxy.start(servers.s3);
	onTestFinished(() => proxy.close());
	const { child, ended } = startTidemill(["archive"], {
		...archive.env(),
		...compactsAtOnce,
		S3_ENDPOINT: proxy.endpoint,
		ARCHIVE_SCRATCH: await passingDirectory("scratch"),
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	let [begun, done] = [0, 0];
	proxy.disturb = (request) => {
		if (!steps[step](request) || ++begun !== nth || when === "after")
			return undefined;
		child.kill("SIGKILL");
		return { status: 503, code: "NobodyReadsThis" };
	};
	proxy.afterwards = (request) => {
		if (steps[step](request) && ++done === nth && when === "after")
			child.kill("SIGKILL");
	};
	expect(await ended).toMatchObject({ signal: "SIGKILL" });
}

/** An archive process that is ready, and compacts at once. */
async function startCompacting({ archive }: CompactionFixture) {
	const process = await startArchiveProcess(archive, {
		...compactsAtOnce,
		ARCHIVE_SCRATCH: await passingDirectory("scratch"),
	});
	await eventually(async () => expect(await process.readyz()).toBe("ok\n"));
	return process;
}

test.each<
	["before" | "after", Step, number, names: number, hasRecord: boolean]
>([
	["before", "reads an object", 6, 12, false],
	["before", "stores the output", 1, 12, false],
	["after", "stores the output", 1, 13, false],
	["after", "reads the output", 1, 13, false],
	["before", "records it", 1, 13, false],
	["after", "records it", 1, 13, true],
	["before", "removes what was replaced", 1, 13, true],
	["after", "removes what was replaced", 1, 1, true],
])(
	"an archive killed with SIGKILL %s it %s (%i) and started again has each event once in manifests and in the table",
	async (when, step, nth, names, hasRecord) => {
		const fixture = await CompactionFixture.open(servers);
		const { archive, bodies } = fixture;
		await fixture.running.stop();
		if (step === "removes what was replaced") {
			await runUntilKilled(fixture, "after", "records it", 1);
			await fixture.recordedDaysAgo(2);
		}
		// An output is read only when another compactor has written it.
		if (step === "reads the output")
			await runUntilKilled(fixture, "after", "stores the output", 1);
		await runUntilKilled(fixture, when, step, nth);
		expect(await fixture.names()).toHaveLength(names);
		expect((await fixture.record()) !== undefined).toBe(hasRecord);

		const { child, ended } = await startCompacting(fixture);
		// While it goes on with what the dead one began.
		const early = await fixture.manifest();
		expect(await loadedBodies(early)).toEqual(bodies);
		await eventually(async () =>
			expect((await fixture.record())?.outputs).toHaveLength(1),
		);
		const lake = await openLake(archive);
		const inLake = async () => {
			await lake.look();
			return lake.bodiesFound();
		};
		const isListed = () =>
			eventually(async () => expect(await inLake()).toEqual(bodies));
		await isListed();
		const warehouse = await loadFixture();
		const table = async () => {
			const { exitCode, log } = await warehouse.load(await fixture.manifest());
			expect(exitCode, log).toBe(0);
			const rows = await warehouse.rows("SELECT body FROM orders ORDER BY 1");
			return rows.flat();
		};
		expect(await table()).toEqual(bodies);

		await fixture.recordedDaysAgo(2);
		// It knows already when the record was written.
		child.kill("SIGKILL");
		await ended;
		await startCompacting(fixture);
		await eventually(async () => expect(await fixture.names()).toHaveLength(1));
		const late = await fixture.manifest();
		expect(dateOf(late).objects).toHaveLength(1);
		expect(await loadedBodies(late)).toEqual(bodies);
		await isListed();
		expect(await table()).toEqual(bodies);
	},
);

test.each<
	["before" | "after", Step, number, names: number, hasRecord: boolean]
>([
	["before", "reads an object", 6, 12, false],
	["after", "stores the output", 1, 13, false],
	["before", "records it", 1, 13, false],
	["after", "records it", 1, 13, true],
	["after", "removes what was replaced", 1, 1, true],
])(
	"an archive killed with SIGKILL %s it %s (%i) of quarantine and started again has each event there once, and releases it once",
	async (when, step, nth, names, hasRecord) => {
		const fixture = await CompactionFixture.open(servers, 12, true);
		const { archive, bodies } = fixture;
		await fixture.running.stop();
		if (step === "removes what was replaced") {
			await runUntilKilled(fixture, "after", "records it", 1);
			await fixture.recordedDaysAgo(2);
		}
		await runUntilKilled(fixture, when, step, nth);
		expect(await fixture.names()).toHaveLength(names);
		expect((await fixture.record()) !== undefined).toBe(hasRecord);

		const { child, ended } = await startCompacting(fixture);
		const early = await fixture.manifest();
		expect(await bodiesApart(early)).toEqual(bodies);
		const listed = async () =>
			(await archive.askEvents({ limit: 200 })) as { events?: unknown[] };
		expect((await listed()).events).toHaveLength(bodies.length);
		const releases = [archive.askRelease({ operation: randomUUID() })];
		await eventually(async () =>
			expect((await fixture.record())?.outputs).toHaveLength(1),
		);
		releases.push(archive.askRelease({ operation: randomUUID() }));
		const answers = await Promise.all(releases);
		const events = answers.flatMap((answer) => (answer.ok ? answer.dates : []));
		expect(events.reduce((sum, day) => sum + day.events, 0)).toBe(
			bodies.length,
		);

		await fixture.recordedDaysAgo(2);
		child.kill("SIGKILL");
		await ended;
		await startCompacting(fixture);
		await eventually(async () => expect(await fixture.names()).toHaveLength(1));
		const late = await fixture.manifest();
		expect(dateOf(late).quarantine?.objects).toHaveLength(1);
		expect(await bodiesApart(late)).toEqual(bodies);
		expect(await loadedBodies(late)).toEqual(bodies);
		expect((await listed()).events).toHaveLength(bodies.length);
		expect(await archive.askRelease({ operation: randomUUID() })).toEqual({
			ok: true,
			dates: [],
		});
	},
);
