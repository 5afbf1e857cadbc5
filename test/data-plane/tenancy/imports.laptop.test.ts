import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventIdText, newEventId } from "../../../ingest/wire/frame-event.ts";
import { addDays, utcDate } from "../../../packages/contracts/utc-date.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import { leaveParts } from "../../support/fixtures/data-plane/imported-events.ts";
import {
	type Servers,
	startServers,
} from "../../support/servers/archive-servers.ts";

/* Imports of two accounts, shop and bank. Each knows the other's source key and Operations' uids. */

let servers: Servers;
beforeAll(async () => {
	servers = await startServers();
});
afterAll(() => servers?.stop());

const today = utcDate(Date.now());
const sourceKey = randomBytes(16).toString("hex");
const bank = { account: "bank", sourceKey };
const ofBank = { account: "bank", sourceKeys: [sourceKey] };

/** An Operation's uid, of which archive has listed what its Job reads. */
async function begun(
	archive: ArchiveFixture,
	source: { account: string; sourceKey: string },
): Promise<string> {
	const run = randomUUID();
	const days = { start: addDays(today, -30), end: today };
	const question = { run, ...source, extent: "Chosen", report: true } as const;
	const answer = await archive.ask({ ...question, ...days });
	if (!answer.ok) throw new Error(answer.error.message);
	return run;
}

function eventOf(source: { account: string; sourceKey: string }) {
	const receivedAtMs = Date.now();
	const id = newEventId(receivedAtMs);
	return newEvent('"imported"', { ...source, id, receivedAtMs });
}

const found = async (archive: ArchiveFixture, more: object = {}) => {
	const answer = await archive.askEvents({}, more);
	if (!answer.ok) throw new Error(answer.error.message);
	return answer.events.map(({ eventID }) => eventID);
};

test("what an account's Job leaves adds no event to another account's Source", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const shop = { account: "shop", sourceKey: archive.sourceKey };
	for (const named of [
		shop,
		{ ...bank, account: "shop" },
		{ ...shop, account: "bank" },
	]) {
		const operation = await begun(archive, bank);
		await leaveParts(archive, bank, operation, [eventOf(bank), eventOf(named)]);
		expect(
			await archive.askImport({ ...bank, operation, parts: 1 }),
		).toMatchObject({ ok: false, error: { code: "ImportInvalid" } });
	}
	expect(await found(archive)).toEqual([]);
	expect(await found(archive, ofBank)).toEqual([]);
});

test("an account's Import adds nothing that another's Job has left, and imported events are its own account's alone", async () => {
	const archive = await ArchiveFixture.open(servers);
	await archive.start();
	const shop = { account: "shop", sourceKey: archive.sourceKey };
	const operation = await begun(archive, shop);
	const event = eventOf(shop);
	await leaveParts(archive, shop, operation, [event]);
	for (const source of [bank, { ...shop, account: "bank" }])
		expect(
			await archive.askImport({ ...source, operation, parts: 1 }),
		).toMatchObject({ ok: false, error: { code: "ObjectMissing" } });
	expect(await archive.askImport({ operation, parts: 1 })).toMatchObject({
		dates: [{ date: today, events: 1 }],
	});
	const id = eventIdText(event.id);
	expect(await found(archive)).toEqual([id]);
	for (const sourceKeys of [[sourceKey], [archive.sourceKey]]) {
		const asked = { account: "bank", sourceKeys };
		expect(await found(archive, asked)).toEqual([]);
		expect(await archive.askEvent(id, asked)).not.toHaveProperty("event");
	}
});
