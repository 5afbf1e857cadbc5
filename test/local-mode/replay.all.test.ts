// In make test: cli/events/replay.test.ts
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { send, untilKnown } from "../support/senders/http-client.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

/* From a laptop with nothing but what `make up` wrote: events go to a handler of one's own, bodies and all. */

interface Received {
	id: string | undefined;
	type: string | undefined;
	body: string;
}

const received: Received[] = [];
const handler = createServer(async (request, response) => {
	const { headers } = request;
	const id = headers["tidemill-event-id"]?.toString();
	received.push({
		id,
		type: headers["content-type"],
		body: await text(request),
	});
	response.writeHead(204).end();
});
let local: LocalMode;
let url: string;
let to: string;

beforeAll(async () => {
	await new Promise<void>((resolve) =>
		handler.listen(0, "127.0.0.1", () => resolve()),
	);
	to = `http://127.0.0.1:${(handler.address() as AddressInfo).port}/hook`;
	local = await openLocalMode("replay");
	url = (
		await local.run("tidemill", "sources", "create", "shop", "--wait")
	).split("\n")[1]!;
	await untilKnown(url);
});

afterAll(() => {
	handler.close();
});

const form = "application/x-www-form-urlencoded";

async function sent(body: string, type = "application/json"): Promise<string> {
	const { json } = await send(url, { headers: { "content-type": type }, body });
	return json.event_id;
}

test("stored events reach the handler in their order, and those that come, too", async () => {
	const first = await sent('{"order": 1.10}');
	const second = await sent("a=1&a=2&b=%26", form);
	const replay = ["events", "replay", "shop", "--to", to];
	await local.run("tidemill", ...replay, "--from", "2026-01-01T00:00:00Z");
	const expected = [
		{ id: first, type: "application/json", body: '{"order": 1.10}' },
		{ id: second, type: form, body: "a=1&a=2&b=%26" },
	];
	expect(received).toEqual(expected);
	received.length = 0;
	await local.run("tidemill", ...replay, "--event", second);
	expect(received).toEqual([expected[1]]);
	received.length = 0;
	const coming = local.run("tidemill", ...replay, "--limit", "1");
	// It is there once the API follows the source.
	const ids: string[] = [];
	await vi.waitFor(
		async () => {
			ids.push(await sent('{"order":3}'));
			expect(received).not.toEqual([]);
		},
		{ timeout: 60_000, interval: 500 },
	);
	await coming;
	expect(received).toHaveLength(1);
	expect(ids).toContain(received[0]!.id);
});

test("a cluster's administrator sees bodies by the kubeconfig of make up, in each namespace", async () => {
	const id = await sent('{"secret":"of the shop"}');
	const got = await vi.waitFor(
		() => local.run("tidemill", "events", "get", "shop", id, "--body"),
		{ timeout: 60_000 },
	);
	expect(JSON.parse(got).body).toBe('{"secret":"of the shop"}');
	// The token of the shell may not, and may be old.
	const token = JSON.parse(
		await local.run("tidemill", "tokens", "list", "--json"),
	);
	expect(token).toMatchObject([
		{ name: expect.stringMatching(/^cli-[0-9a-f]{10}$/), scope: "edit" },
	]);
	expect(Date.parse(token[0].expireTime) - Date.now()).toBeLessThan(901_000);
	const list = "tidemill events list shop -o json";
	// A token of another hour, whose signature is none of this apiserver's.
	const old = `export TIDEMILL_API_TOKEN="\${TIDEMILL_API_TOKEN%.*}.of-yesterday"; exec ${list}`;
	expect(JSON.parse(await local.run("sh", "-c", old))).not.toEqual([]);
	// A token that a person sets is the one that is used.
	const own = `export TIDEMILL_API_TOKEN="$(tidemill tokens create mine --scope read)"; tidemill tokens whoami -o json; ! tidemill events get shop ${id} --body`;
	const [, actor] = JSON.parse(await local.run("sh", "-c", own));
	expect(actor).toMatchObject({
		user: "system:serviceaccount:replay:tidemill-token-mine",
		rights: ["read"],
		from: "TIDEMILL_API_TOKEN",
	});
});
