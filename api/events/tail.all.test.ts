// In make test: test/control-plane/api.laptop.test.ts
import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import {
	afterEach,
	beforeEach,
	expect,
	onTestFinished,
	test,
	vi,
} from "vitest";
import {
	KubeApiError,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import { createLog } from "../../packages/service/log.ts";
import {
	withoutArchive,
	withoutKeys,
	withoutReceive,
} from "../../test/support/fixtures/control-plane/without-nats.ts";
import type { TailListener, TailQuestion } from "../http/endpoint.ts";
import { createApi } from "../server.ts";
import { idOf, positionOf } from "./tail.ts";

const sourceKey = "5".repeat(32);
const path = "/v1/sources/shop/events/tail";
const stream = "tidemill-frames-2-0123456789abcdef";
const place = "0123456789abcdef.7.0";
const soon = { timeout: 60_000 };

let api: ReturnType<typeof createApi>;
let url: string;
let stopping: AbortController;
let asked: TailQuestion[];
let open: number;
/** What callers have lost since they began. */
let lost: "right" | "token" | undefined;

/** An apiserver where a token `<account>.<role>` is a ServiceAccount's, and roles have the rights of ours. */
function clientOf(token: string): KubeClient {
	const [account, role] = token.split(".");
	return {
		raw: async (
			_method: string,
			path: string,
			{ body }: { body: { spec: { resourceAttributes: Attributes } } },
		) => {
			if (!role || lost === "token")
				throw new KubeApiError(401, { reason: "Unauthorized" });
			if (path.endsWith("selfsubjectaccessreviews")) {
				const { subresource } = body.spec.resourceAttributes;
				const isHeld = rights[role]?.includes(subresource) ?? false;
				const allowed = isHeld && lost !== "right";
				return { status: { allowed } };
			}
			const username = `system:serviceaccount:${account}:${role}`;
			const groups = ["system:serviceaccounts"];
			return { status: { userInfo: { username, groups } } };
		},
		rawText: async () => "ok",
		get: async () => ({ spec: {}, status: { sourceKey, shard: 2 } }),
	} as unknown as KubeClient;
}

interface Attributes {
	subresource: string;
}

const rights: Record<string, string[]> = {
	viewer: ["events"],
	editor: ["events", "bodies"],
};

async function followArchive(
	question: TailQuestion,
	listener: TailListener,
	signal: AbortSignal,
): Promise<void> {
	asked.push(question);
	open++;
	if (question.account === "crowd") listener.onArchive(false, "TooManyTails");
	else listener.onArchive(true);
	const event = {
		sequence: 7,
		index: 0,
		eventID: "e",
		time: "2026-03-01T12:00:00.000Z",
		kind: "json" as const,
		bytes: 2,
		state: "accepted" as const,
	};
	listener.onEvents([event], stream);
	listener.onLeftOut(3);
	while (question.account === "flood" && !signal.aborted) {
		listener.onEvents([{ ...event, type: "x".repeat(100_000) }], stream);
		await turn();
	}
	if (!signal.aborted) await once(signal, "abort");
	open--;
}

beforeEach(async () => {
	asked = [];
	open = 0;
	lost = undefined;
	stopping = new AbortController();
	const log = createLog("test");
	log.level = "silent";
	api = createApi({
		clientFor: clientOf,
		rateLimit: { limit: 1_000, windowMs: 60_000 },
		idempotency: withoutKeys,
		archive: { ...withoutArchive, followArchive },
		receive: withoutReceive,
		log,
		stopping: stopping.signal,
	});
	url = await api.listen({ host: "127.0.0.1", port: 0 });
});

afterEach(async () => {
	stopping.abort();
	await api.close();
});

async function follow(
	token: string,
	headers: Record<string, string> = {},
	query = "",
) {
	const leaving = new AbortController();
	const answer = await fetch(url + path + query, {
		headers: { authorization: `Bearer ${token}`, ...headers },
		signal: leaving.signal,
	});
	return { answer, leave: () => leaving.abort() };
}

/** Reads until the text has this. */
async function read(answer: Response, until: string): Promise<string> {
	let text = "";
	const decoder = new TextDecoder();
	for await (const chunk of answer.body!) {
		const before = Math.max(0, text.length - until.length);
		text += decoder.decode(chunk, { stream: true });
		if (text.includes(until, before)) break;
	}
	return text;
}

test("a viewer follows the events of a Source in its own account, without bodies; leaving ends the tail", async () => {
	const { answer, leave } = await follow("shop.viewer", {
		accept: "text/event-stream",
	});
	expect(answer.status).toBe(200);
	expect(answer.headers.get("content-type")).toMatch(/^text\/event-stream/);
	expect(asked).toMatchObject([
		{ account: "shop", sourceKey, shard: 2, withBody: false },
	]);
	expect(await read(answer, "left-out")).toContain(
		`event: open\ndata: {"message":"New events are shown."}\n\nid: ${place}\nevent: accepted\ndata: {"eventID":"e"`,
	);
	leave();
	await expect.poll(() => open, soon).toBe(0);
});

test("a client goes on behind its last event", async () => {
	await follow("shop.viewer", { "last-event-id": place });
	expect(asked[0]?.after).toEqual({ stream, sequence: 7, index: 0 });
	const { answer } = await follow("shop.viewer", { "last-event-id": "x" });
	expect(answer.status).toBe(400);
});

test("bodies need a right of their own, and without the right to events there is no tail", async () => {
	const statuses = async (token: string) =>
		Promise.all(
			["", "?body=true"].map(
				async (query) => (await follow(token, {}, query)).answer.status,
			),
		);
	expect(await statuses("shop.editor")).toEqual([200, 200]);
	expect(await statuses("shop.viewer")).toEqual([200, 403]);
	expect(await statuses("shop.runner")).toEqual([403, 403]);
	expect(asked.map(({ withBody }) => withBody).sort()).toEqual([
		false,
		false,
		true,
	]);
});

test.each([
	["right", "Forbidden"],
	["token", "Unauthorized"],
] as const)(
	"whose %s is gone is cut off from a tail within a minute",
	async (what, reason) => {
		vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
		onTestFinished(() => void vi.useRealTimers());
		const { answer } = await follow("shop.viewer");
		const said = read(answer, "event: end");
		lost = what;
		await vi.advanceTimersByTimeAsync(60_000);
		expect(await said).toContain(`"reason":"${reason}"`);
		await expect.poll(() => open, soon).toBe(0);
	},
);

test("a token of one account names no other", async () => {
	const { answer } = await follow("thief.editor", {
		"tidemill-account": "shop",
	});
	expect(answer.status).toBe(403);
	expect(asked).toEqual([]);
});

test("an account's sixth tail is refused, and another account has its own", async () => {
	const tails = [];
	for (let i = 0; i < 5; i++) tails.push(await follow("many.viewer"));
	const { answer } = await follow("many.viewer");
	expect(answer.status).toBe(429);
	expect(answer.headers.get("retry-after")).toBe("10");
	expect((await follow("few.viewer")).answer.status).toBe(200);
	tails[0]!.leave();
	await expect
		.poll(async () => (await follow("many.viewer")).answer.status, soon)
		.toBe(200);
});

test("a tail that is cut off keeps its place until its client has read or left", async () => {
	const tails = [];
	for (let i = 0; i < 5; i++) tails.push(await follow("flood.viewer"));
	await expect.poll(() => open, soon).toBe(0);
	const { answer } = await follow("flood.viewer");
	expect(answer.status).toBe(429);
	expect(await read(tails[0]!.answer, "event: end")).toContain("SlowReader");
	tails[1]!.leave();
	await expect
		.poll(async () => {
			const { answer, leave } = await follow("flood.viewer");
			leave();
			return answer.status;
		}, soon)
		.toBe(200);
	for (const { leave } of tails) leave();
});

test("a tail for which archive has no room says so, and goes on to wait", async () => {
	const { answer } = await follow("crowd.viewer");
	const text = await read(answer, "left-out");
	expect(text).toContain(`event: waiting\ndata: {"reason":"TooManyTails"`);
	expect(text).toContain("this one goes on when there is room");
	expect(open).toBe(1);
});

test("when the API stops, a tail ends with the reason", async () => {
	const { answer } = await follow("shop.viewer");
	stopping.abort();
	expect(await read(answer, "event: end")).toContain('"reason":"Stopping"');
	await expect.poll(() => open, soon).toBe(0);
});

test("an event's id leads back to its place", () => {
	const place = {
		stream: "tidemill-frames-3-0123456789abcdef",
		sequence: 42,
		index: 7,
	};
	expect(idOf(place)).toBe("0123456789abcdef.42.7");
	expect(positionOf(idOf(place), 3)).toEqual(place);
	for (const id of ["", "42", "0123456789abcdef.42", "0123456789ABCDEF.1.1"])
		expect(() => positionOf(id, 3)).toThrow("Last-Event-ID");
});
