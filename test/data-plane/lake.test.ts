import { afterAll, beforeAll, expect, test } from "vitest";
import { utcDate } from "../../packages/contracts/utc-date.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { openLake } from "../support/fixtures/data-plane/lake.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

test("the queries of docs/lake.md give the events that were archived", async () => {
	const archive = await ArchiveFixture.open(servers);
	const { flush } = await archive.start();
	const { sourceKey } = archive;
	const order = '{"type":"order.created","data":{"amount":12.5}}';
	const receivedAtMs = Date.now();
	const of = { account: "default", sourceKey, receivedAtMs };
	await archive.publish([newEvent(order, of), newEvent('{"type":"x"}', of)]);
	// One odd event breaks nobody's query.
	await archive.publish([
		newEvent(String.raw`{"type":"order.created","cut":"\ud83c"}`, of),
		newEvent(String.raw`{"type":"x\u0000","n":1e400}`, of),
	]);
	await flush();
	await archive.publish([newEvent("[]", of), newEvent("1", { receivedAtMs })]);
	await flush();

	const lake = await openLake(archive);
	const [perDay, fields] = lake.queries;
	const date = utcDate(receivedAtMs);
	expect(await lake.rows(perDay!)).toEqual([
		{ account: "default", source: sourceKey, date, events: "5" },
		{ account: "shop", source: "5a".repeat(16), date, events: "1" },
	]);
	expect(await lake.rows(fields!)).toMatchObject([
		{ type: "order.created", amount: "12.5" },
	]);
});
