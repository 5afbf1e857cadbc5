// In make test: test/data-plane/archive-alarms.laptop.test.ts
import { jetstreamManager } from "@nats-io/jetstream";
import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { encodeFrameHead } from "../../ingest/wire/frame.ts";
import { observeBacklogs } from "../../packages/service/backlog-metrics.ts";
import { readBacklogs } from "../../packages/streams/backlogs.ts";
import { firing, type Scrape } from "../support/alerts/firing.ts";
import { commandsIn, runbookOf } from "../support/alerts/runbook.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	connectAs,
	startNats,
	startS3,
	type TestNats,
	type TestS3,
} from "../support/servers/servers.ts";
import { accessStore } from "../support/servers/store-access.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

/*
 * A runbook from its cause to its end: real servers have the fault, Prometheus' engine fires the alert, what the runbook says is done, its own
 * commands as they stand, and the alert ends. Those of the operator end in test/control-plane/operator-alerts.all.test.ts.
 */

interface Scene {
	nats: TestNats;
	s3: TestS3;
	archive: ArchiveFixture;
	/** Starts archive's process, instead of the one that runs, as a new Pod. */
	restartArchive(): Promise<void>;
	stopArchive(): Promise<void>;
	/** What archive, if one runs, and the operator tell. */
	tell(): Promise<Scrape>;
	/** Runs a runbook's `tidemill` command in archive's Pod. */
	inPod(command: string): Promise<string>;
}

interface Row {
	alert: string;
	cause(scene: Scene): Promise<void>;
	/** What the runbook says. */
	mend(scene: Scene): Promise<void>;
}

const small = 64 * 1024 ** 2;
const size = "x".repeat(500_000);

const rows: Row[] = [
	{
		alert: "TidemillArchiveAlarm",
		async cause({ archive, restartArchive }) {
			const frame = encodeFrameHead(archive.process, 1, [], 0);
			frame[3] = 9;
			await archive.publishBytes(frame, "x");
			await restartArchive();
		},
		async mend({ archive, inPod, restartArchive }) {
			const [list = ""] = commandsIn(runbookOf("TidemillArchiveAlarm")).filter(
				(command) => command.includes("tidemill buffer list"),
			);
			const [, sequence = ""] = await eventually(async () => {
				const found = /alarm FrameUnreadable\tsequence (\d+) can't be/.exec(
					await inPod(list),
				);
				expect(found).not.toBeNull();
				return found!;
			});
			await inPod(
				`kubectl exec deployment/tidemill-archive -- tidemill buffer purge --stream ${archive.stream} --sequence ${sequence}`,
			);
			await restartArchive();
		},
	},
	{
		alert: "TidemillArchiveLags",
		async cause({ s3, archive, restartArchive }) {
			await restartArchive();
			await s3.kill();
			await archive.publish([newEvent("1")]);
		},
		mend: ({ s3 }) => s3.start(),
	},
	{
		alert: "TidemillBufferFills",
		async cause({ archive, stopArchive }) {
			await stopArchive();
			const { streams } = await jetstreamManager(archive.connection);
			await streams.update(archive.stream, { max_bytes: small });
			for (let n = 0; n < 85; n++)
				await archive.publish([newEvent(JSON.stringify(size))]);
		},
		mend: ({ restartArchive }) => restartArchive(),
	},
	{
		alert: "TidemillArchiveLagUnknown",
		async cause({ nats, restartArchive }) {
			await restartArchive();
			await nats.kill();
		},
		mend: ({ nats }) => nats.start(),
	},
];

test.each(rows)(
	"$alert fires for its cause, and ends once its runbook was followed",
	async ({ alert, cause, mend }) => {
		const scene = await startScene();
		await scene.restartArchive();
		const fires = async () => {
			// What grows goes on, as in the hour that a rule waits for.
			const before = await scene.tell();
			return firing(await scene.tell(), before);
		};
		await eventually(async () => expect(await fires()).not.toContain(alert));
		await cause(scene);
		await eventually(async () => expect(await fires()).toContain(alert));
		await mend(scene);
		await eventually(async () => expect(await fires()).not.toContain(alert));
	},
);

async function startScene(): Promise<Scene> {
	const [nats, s3] = await Promise.all([startNats(), startS3()]);
	accessStore(s3);
	const stop = async () => {
		await nats.stop();
		await s3.stop();
	};
	onTestFinished(stop);
	const archive = await ArchiveFixture.open({ nats, s3, stop }, 0);
	const operator = await connectAs(nats, "operator");
	onTestFinished(() => operator.close());
	const registry = new Registry();
	observeBacklogs(registry, () => readBacklogs(operator, [archive.shard]));
	const settings = { STREAM_MAX_BYTES: String(small) };
	let running: Awaited<ReturnType<typeof startArchiveProcess>> | undefined;
	const stopArchive = async () => {
		running?.child.kill("SIGKILL");
		await running?.ended;
		running = undefined;
	};
	return {
		...{ nats, s3, archive, stopArchive },
		async restartArchive() {
			await stopArchive();
			running = await startArchiveProcess(archive, settings);
		},
		async tell() {
			const texts = [
				...(running ? [await running.metrics()] : []),
				await registry.metrics(),
			];
			return { atMs: Date.now(), texts };
		},
		async inPod(command) {
			const [, words = ""] = / -- tidemill (.+)$/.exec(command)!;
			const env = { ...archive.env(), ...settings };
			const { exitCode, stdout, stderr } = await startTidemill(
				words.split(" "),
				env,
			).ended;
			expect(exitCode, stderr).toBe(0);
			return stdout;
		},
	};
}
