import { expect, test } from "vitest";
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
