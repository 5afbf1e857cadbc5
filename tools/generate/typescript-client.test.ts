import { expect, test, vi } from "vitest";
import { ApiUnavailable } from "../../clients/typescript/src/errors.ts";
import {
	Api,
	type StreamedEvent,
} from "../../clients/typescript/src/request.ts";

/** An API that answers each request in turn, and the requests that it got. */
function answering(...answers: [text: string, type: string][]) {
	const asked: Request[] = [];
	const api = new Api({
		url: "https://api.example/v1",
		token: "t",
		account: undefined,
		retryMs: 0,
		fetch: async (input, init) => {
			asked.push(new Request(input as URL, init));
			const [text, type] = answers.shift()!;
			return new Response(text, { headers: { "content-type": type } });
		},
	});
	return { api, asked };
}

test("a stream's events come one by one, without the server's comments, and go on after the last", async () => {
	const { api, asked } = answering([
		': here\n\nid: 7\nevent: accepted\ndata: {"a":1}\n\nevent: end\ndata: {}\n\n',
		"text/event-stream",
	]);
	const seen: StreamedEvent[] = [];
	const path = "/v1/sources/shop/events/tail";
	for await (const event of api.events("GET", path, { lastEventId: "6" }))
		seen.push(event);
	expect(seen).toEqual([
		{ id: "7", event: "accepted", data: { a: 1 } },
		{ event: "end", data: {} },
	]);
	const { headers } = asked[0]!;
	expect(headers.get("last-event-id")).toBe("6");
	expect(headers.get("accept")).toBe("text/event-stream");
});

test("data of a stream may have the line ends of Unicode", async () => {
	const data = { a: "b\u2028c\u2029d\u0085e" };
	const { api } = answering([
		`event: accepted\ndata: ${JSON.stringify(data)}\n\n`,
		"text/event-stream",
	]);
	expect(await Array.fromAsync(api.events("GET", "/v1/changes", {}))).toEqual([
		{ event: "accepted", data },
	]);
});

/** An API whose answer is `answer`'s. */
const apiOf = (answer: (signal: AbortSignal) => Promise<Response>) =>
	new Api({
		url: "https://api.example/v1",
		token: "t",
		account: undefined,
		retryMs: 0,
		fetch: (_, init) => answer(init!.signal!),
	});

test("a stream whose connection is lost throws an error of the client, and one that its reader gives up that reader's reason", async () => {
	let lose: (error: Error) => void;
	const api = apiOf(async (signal) => {
		const body = new ReadableStream({
			start(controller) {
				lose = (error) => controller.error(error);
				signal.addEventListener("abort", () => lose(signal.reason));
				controller.enqueue(new TextEncoder().encode("data: {}\n\n"));
			},
		});
		return new Response(body);
	});
	const lost = api.events("GET", "/v1/changes", {});
	await lost.next();
	lose!(new TypeError("terminated"));
	const error = await lost.next().catch((error) => error);
	expect(error).toBeInstanceOf(ApiUnavailable);
	expect(error.message).toBe(
		"The stream of GET /v1/changes broke off: terminated.",
	);
	const reader = new AbortController();
	const { signal } = reader;
	const given = api.events("GET", "/v1/changes", { signal });
	await given.next();
	reader.abort(new Error("enough"));
	await expect(given.next()).rejects.toThrow(/^enough$/);
});

test("a stream that is silent for three heartbeats, or doesn't begin, ends as unavailable", async () => {
	vi.useFakeTimers();
	try {
		let isCancelled = false;
		const cancel = () => {
			isCancelled = true;
		};
		const silent = apiOf(
			async () => new Response(new ReadableStream({ cancel })),
		);
		const outcome = silent
			.events("GET", "/v1/changes", {})
			.next()
			.catch((error) => error);
		await vi.advanceTimersByTimeAsync(29_000);
		expect(isCancelled).toBe(false);
		await vi.advanceTimersByTimeAsync(1_000);
		expect(await outcome).toBeInstanceOf(ApiUnavailable);
		expect(isCancelled).toBe(true);

		const mute = apiOf(
			(signal) =>
				new Promise((_, reject) =>
					signal.addEventListener("abort", () => reject(signal.reason)),
				),
		);
		const never = mute
			.events("GET", "/v1/changes", {})
			.next()
			.catch((error) => error);
		await vi.advanceTimersByTimeAsync(90_000);
		expect(await never).toBeInstanceOf(ApiUnavailable);
		expect(vi.getTimerCount()).toBe(0);
	} finally {
		vi.useRealTimers();
	}
});

test("a list's next page is asked for once it is needed", async () => {
	const { api, asked } = answering(
		['{"items":[1,2],"cursor":"c"}', "application/json"],
		['{"items":[3]}', "application/json"],
	);
	const read = (query: { cursor?: string }) =>
		api.json<{ items: number[]; cursor?: string }>("GET", "/v1/runs", {
			query,
		});
	const pages = api.pages(read);
	expect((await pages.next()).value).toBe(1);
	expect(asked).toHaveLength(1);
	expect(await Array.fromAsync(pages)).toEqual([2, 3]);
	expect(asked.map(({ url }) => new URL(url).search)).toEqual([
		"",
		"?cursor=c",
	]);
});
