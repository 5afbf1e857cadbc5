// In make test: test/promises/each-event-is-one-row.laptop.test.ts
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { newEventId } from "../../../ingest/wire/frame-event.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import {
	addDays,
	dayMs,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { startArchiveProcess } from "../../support/faults/archive-process.ts";
import {
	ArchiveFixture,
	eventually,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import { leaveParts } from "../../support/fixtures/data-plane/left-parts.ts";
import { bodiesIn } from "../../support/fixtures/data-plane/manifest-bodies.ts";
import { S3Proxy, type SeenRequest } from "../../support/proxies/s3-proxy.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";
import { startTidemill } from "../../support/servers/tidemill-process.ts";

/* SIGKILL ends archive in the middle of an Import. Operator asks again, and another archive answers. */

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

let shard = 0;

const steps = {
	"stores an object": (path: string) => path.endsWith(".parquet"),
	"records it": (path: string) => path.endsWith(".json"),
};

test.each<["before" | "after", keyof typeof steps, number]>([
	["before", "stores an object", 1],
	["after", "stores an object", 2],
	["after", "records it", 1],
	["after", "records it", 2],
])(
	"an Import whose archive gets SIGKILL %s it %s (%i) makes each event one row",
	async (when, step, nth) => {
		// Midnight may pass meanwhile.
		const now = Date.now();
		const today = utcDate(now);
		const yesterday = addDays(today, -1);
		const archive = await ArchiveFixture.open(servers, shard++);
		const { sourceKey } = archive;
		const shop = { account: "shop", sourceKey };
		const proxy = await S3Proxy.start(servers.s3);
		onTestFinished(() => proxy.close());
		const { child, ended } = startTidemill(["archive"], {
			...archive.env(),
			S3_ENDPOINT: proxy.endpoint,
		});
		onTestFinished(() => void child.kill("SIGKILL"));
		const operation = randomUUID();
		await eventually(async () => {
			const days = { start: addDays(today, -30), end: today };
			const of = { run: operation, ...shop, extent: "Chosen" } as const;
			const answer = await archive.ask({ ...of, ...days, report: true });
			expect(answer).toMatchObject({ ok: true });
		});
		const part = [now, now - dayMs].map((receivedAtMs, at) =>
			newEvent(String(at), {
				...shop,
				id: newEventId(receivedAtMs),
				receivedAtMs,
			}),
		);
		const parts = await leaveParts(archive, shop, operation, part);

		const isStep = ({ method, path }: SeenRequest) =>
			method === "PUT" && path.includes("/releases/") && steps[step](path);
		let [begun, done] = [0, 0];
		proxy.disturb = (request) => {
			if (!isStep(request) || ++begun !== nth || when === "after")
				return undefined;
			child.kill("SIGKILL");
			return { status: 503, code: "NobodyReadsThis" };
		};
		proxy.afterwards = (request) => {
			if (isStep(request) && ++done === nth && when === "after")
				child.kill("SIGKILL");
		};
		void archive.askImport({ operation, parts }).catch(() => undefined);
		expect(await ended).toMatchObject({ signal: "SIGKILL" });

		const { readyz } = await startArchiveProcess(archive);
		await eventually(async () => expect(await readyz()).toBe("ok\n"));
		for (let times = 0; times < 2; times++)
			expect(await archive.askImport({ operation, parts })).toEqual({
				ok: true,
				dates: [
					{ date: yesterday, events: 1 },
					{ date: today, events: 1 },
				],
			});
		const answer = await archive.ask({ run: randomUUID(), ...shop });
		if (!answer.ok) throw new Error(answer.error.message);
		const manifest = await (await fetch(answer.url)).json();
		expect((await bodiesIn(manifest as Manifest)).sort()).toEqual(["0", "1"]);
	},
);
