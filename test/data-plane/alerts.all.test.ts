// On a laptop nothing proves this: promtool is built for minutes.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import {
	issueAuthority,
	issueCertificate,
} from "../../operator/install/certificate.ts";
import { observeCertificates } from "../../packages/service/certificate-metrics.ts";
import { firing, type Scrape, scrape } from "../support/alerts/firing.ts";
import {
	type ReceiveFixture,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../support/senders/http-client.ts";

/* Each reason is caused on real servers, and what the process then tells Prometheus fires the alert. */

const soon = { timeout: 120_000, interval: 100 };
/** Nobody else is scraped here. */
const ofOthers = ["TidemillArchiveLagUnknown", "TidemillOperatorHasNoLeader"];

let fixture: ReceiveFixture;
beforeAll(async () => {
	fixture = await startReceiveFixture();
});
afterAll(() => fixture?.stop());

test("a receiver without NATS fires TidemillReceiveFails and TidemillRoutesAreOld, and nothing before", async () => {
	const { receiver, routes, nats } = fixture;
	const { path } = await routes.add();
	const post = async (body: string) =>
		(await sendJSON(receiver.url + path, body)).status;
	await vi.waitFor(async () => expect(await post("1")).toBe(200), soon);
	const first = await scrape(receiver.healthUrl);
	await post("2");
	// A refusal that is the sender's own fault is no reason.
	expect(await post("not JSON")).toBe(400);
	const healthy = await scrape(receiver.healthUrl);
	expect(await firing(healthy)).toEqual(ofOthers);
	expect(await firing(healthy, first)).not.toContain("TidemillReceiveFails");

	await nats.kill();
	expect(await post("3")).toBe(503);
	await vi.waitFor(async () => {
		const now = await scrape(receiver.healthUrl);
		expect(await firing(now, healthy)).toEqual(
			[...ofOthers, "TidemillReceiveFails", "TidemillRoutesAreOld"].toSorted(),
		);
	}, soon);
});

test.each([
	[3, [...ofOthers, "TidemillCertificateExpires"].toSorted()],
	[30, ofOthers],
])(
	"a server whose certificate ends in %i days fires %j",
	async (days, alerts) => {
		const authority = await issueAuthority("CN=authority", Date.now(), 90);
		const tls = await issueCertificate(
			{ name: "CN=server", hosts: ["localhost"] },
			authority,
			Date.now(),
			days,
		);
		const server = createServer(tls).listen(0, "127.0.0.1");
		server.on("tlsClientError", () => {});
		onTestFinished(() => void server.close());
		await once(server, "listening");
		const { port } = server.address() as AddressInfo;
		const registry = new Registry();
		observeCertificates(registry, [
			{ host: "127.0.0.1", port, greets: false, authorities: authority.cert },
		]);
		const told: Scrape = {
			atMs: Date.now(),
			texts: [await registry.metrics()],
		};
		expect(await firing(told)).toEqual(alerts);
	},
);
