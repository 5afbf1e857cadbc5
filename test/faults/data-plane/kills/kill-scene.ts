import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { newEventId } from "../../../../ingest/wire/frame-event.ts";
import type { Manifest } from "../../../../packages/contracts/manifest.ts";
import { dayMs, utcDate } from "../../../../packages/contracts/utc-date.ts";
import { passingDirectory } from "../../../support/faults/passing-directory.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../../../support/fixtures/data-plane/archive-fixture.ts";
import {
	S3Proxy,
	type SeenRequest,
} from "../../../support/proxies/s3-proxy.ts";
import { TcpProxy } from "../../../support/proxies/tcp-proxy.ts";
import type { Servers } from "../../../support/servers/archive-servers.ts";
import {
	startTidemill,
	type TidemillProcess,
} from "../../../support/servers/tidemill-process.ts";

export type When = "before" | "after";

/** What archive asks of the store, or writes to NATS: bytes of NATS's protocol. */
export type Step = ((request: SeenRequest) => boolean) | { nats: string };

const quarantined = {
	quarantined: true as const,
	violations: JSON.stringify({
		plan: "orders",
		version: "0".repeat(16),
		type: "apart",
		violations: [{ kind: "TypeMismatch" }],
	}),
};

/** The person whose events are erased. */
export const ada = "Ada Lovelace";

/** Archive as a process that a test kills, between NATS and the store, and what one Source has stored. */
export class KillScene {
	readonly archive: ArchiveFixture;
	readonly shop: { account: string; sourceKey: string };
	/** Uid of what operator asks for again and again. */
	readonly operation = randomUUID();
	/** Tags of the events that were sent: those of the table, those in quarantine, and Ada's of both. */
	readonly sent = { rows: [] as string[], apart: [] as string[] };
	readonly adas = new Set<string>();
	/** Ids of Ada's events. */
	readonly adasIDs: string[] = [];
	/** Midnight may pass meanwhile. */
	readonly #nowMs = Date.now();
	readonly #env: Record<string, string>;
	readonly #s3: S3Proxy;
	readonly #nats: TcpProxy;
	#process: TidemillProcess | undefined;

	private constructor(
		archive: ArchiveFixture,
		s3: S3Proxy,
		nats: TcpProxy,
		env: Record<string, string>,
	) {
		this.archive = archive;
		this.shop = { account: "shop", sourceKey: archive.sourceKey };
		this.#s3 = s3;
		this.#nats = nats;
		const url = new URL(archive.servers.nats.urlFor("archive"));
		url.port = String(nats.port);
		this.#env = {
			...archive.env(),
			S3_ENDPOINT: s3.endpoint,
			NATS_URL: url.href,
			ARCHIVE_LISTS_INTERVAL_MS: "100",
			...env,
		};
	}

	/** @param env of the archive, beside what names its servers. */
	static async open(
		servers: Servers,
		env: Record<string, string> = {},
	): Promise<KillScene> {
		const archive = await ArchiveFixture.open(servers);
		const s3 = await S3Proxy.start(servers.s3);
		onTestFinished(() => s3.close());
		const nats = await TcpProxy.start(Number(new URL(servers.nats.url).port));
		onTestFinished(() => nats.close());
		const ARCHIVE_SCRATCH = await passingDirectory("scratch");
		return new KillScene(archive, s3, nats, { ARCHIVE_SCRATCH, ...env });
	}

	dateOf(daysAgo: number): string {
		return utcDate(this.#nowMs - daysAgo * dayMs);
	}

	/** An event of the Source, of that many days ago. */
	event(tag: string, daysAgo: number, isApart = false, name = "Bob") {
		const receivedAtMs = this.#nowMs - daysAgo * dayMs;
		const id = newEventId(receivedAtMs);
		this.sent[isApart ? "apart" : "rows"].push(tag);
		if (name === ada) {
			this.adas.add(tag);
			this.adasIDs.push(
				Buffer.from(id)
					.toString("hex")
					.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
			);
		}
		return newEvent(JSON.stringify({ tag, customer: { name } }), {
			...this.shop,
			id,
			receivedAtMs,
			...(isApart && quarantined),
		});
	}

	/** Frames of two dates, of rows and of what is in quarantine; the first of them of Ada, too. */
	async publishFrames(count: number): Promise<void> {
		for (let frame = 1; frame <= count; frame++) {
			const number = this.sent.rows.length;
			await this.archive.publish(
				[0, 2].flatMap((daysAgo) =>
					[false, true].flatMap((isApart) =>
						(frame === 1 ? ["Bob", ada] : ["Bob"]).map((name) =>
							this.event(
								`${isApart ? "apart" : "row"} ${daysAgo} ${number} ${name}`,
								daysAgo,
								isApart,
								name,
							),
						),
					),
				),
			);
		}
	}

	/** As if nothing had ever gone wrong: archives frames, each as a cut of its own, and what else is asked of an archive. */
	async inPeace(
		frames: number,
		also: () => Promise<unknown> = async () => undefined,
	): Promise<void> {
		const running = await this.archive.start({ maxBytes: 1 });
		await this.publishFrames(frames);
		await running.flush();
		await also();
		await running.stop();
	}

	start(): TidemillProcess {
		const process = startTidemill(["archive"], this.#env);
		onTestFinished(() => void process.child.kill("SIGKILL"));
		this.#process = process;
		return process;
	}

	/** Ends the archive that works. */
	async end(): Promise<void> {
		this.#process?.child.kill("SIGKILL");
		await this.#process?.ended;
	}

	/** Starts an archive, asks it until it comes to the step for the nth time, and ends it there with SIGKILL. */
	async killAt(
		step: Step,
		when: When,
		nth: number,
		ask: () => Promise<unknown>,
	): Promise<void> {
		const process = this.start();
		let isKilled = false;
		const kill = () => {
			isKilled = true;
			process.child.kill("SIGKILL");
		};
		if (typeof step === "function") {
			let [begun, done] = [0, 0];
			this.#s3.disturb = (request) => {
				if (isKilled || !step(request)) return undefined;
				if (++begun !== nth || when === "after") return undefined;
				kill();
				return { status: 503, code: "NobodyReadsThis" };
			};
			this.#s3.afterwards = (request) => {
				if (isKilled || !step(request)) return;
				if (++done === nth && when === "after") kill();
			};
		} else void this.#nats.stallAt(step.nats, when).then(kill);
		await eventually(async () => {
			await Promise.race([process.ended, ask()]).catch(() => undefined);
			if (!isKilled) throw new Error("archive never came to the step");
		});
		await process.ended;
		this.#s3.disturb = () => undefined;
		this.#s3.afterwards = () => undefined;
	}

	/** Ends an archive with SIGKILL so long after its start, wherever it is then. */
	async killAfter(ms: number, ask: () => Promise<unknown>): Promise<void> {
		const process = this.start();
		const timer = setTimeout(() => process.child.kill("SIGKILL"), ms);
		while (process.child.signalCode === null)
			await Promise.race([process.ended, ask()]).catch(() => undefined);
		clearTimeout(timer);
		await process.ended;
	}

	async manifest(more: object = {}): Promise<Manifest> {
		const asked = { run: randomUUID(), ...this.shop, ...more };
		const answer = await this.archive.ask(asked);
		if (!answer.ok) throw new Error(answer.error.code);
		return (await (await fetch(answer.url)).json()) as Manifest;
	}

	/** Contents of the objects of a folder, by key. */
	async objects(folder = ""): Promise<Map<string, Buffer>> {
		const { store, prefix } = this.archive;
		const found = new Map<string, Buffer>();
		for await (const { key } of store.list(`${prefix}/${folder}`)) {
			const answer = await fetch(await store.presign(key, 60));
			// It may have gone meanwhile.
			if (answer.ok) found.set(key, Buffer.from(await answer.arrayBuffer()));
		}
		return found;
	}
}
