import { expect, test } from "vitest";
import { EventStream } from "../../api/http/event-stream.ts";
import { readServerEvents } from "./tail.ts";

test("the command line reads what the API writes", async () => {
	const stream = new EventStream();
	stream.retryAfter(2_000);
	stream.send("accepted", { body: "a\n\nb\r\nc" }, "e.1.0");
	stream.heartbeat();
	stream.send("left-out", { count: 3 });
	stream.end("Stopping", "Connect again.");
	const events = await Array.fromAsync(readServerEvents(stream.body));
	expect(events).toEqual([
		{ id: "e.1.0", name: "accepted", data: { body: "a\n\nb\r\nc" } },
		{ id: "e.1.0", name: "left-out", data: { count: 3 } },
		{
			id: "e.1.0",
			name: "end",
			data: { reason: "Stopping", message: "Connect again." },
		},
	]);
});
