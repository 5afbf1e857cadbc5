import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { EventStream, OpenStreams } from "./event-stream.ts";

test("a reader that falls behind is told so, and is cut off", async () => {
	const stream = new EventStream();
	for (let i = 0; i < 10_000; i++)
		stream.send("accepted", { body: "x".repeat(1_000) });
	expect(stream.signal.aborted).toBe(true);
	const all = await text(stream.body);
	expect(all.length).toBeLessThan(1.5 * 1024 * 1024);
	expect(all.split("\n\n").at(-2)).toContain('"reason":"SlowReader"');
});

test("a reader that doesn't take a part in time is cut off, also when that has left the stream for the answer", async () => {
	const answer = new PassThrough({ highWaterMark: 1_000 });
	const stream = new EventStream(undefined, answer);
	stream.body.pipe(answer);
	stream.send("object", { body: "x".repeat(200_000) });
	await stream.whenRead(0);
	expect(stream.signal.aborted).toBe(true);
	expect(await text(answer)).toContain('"reason":"SlowReader"');
});

test("a part that its reader takes in time ends nothing", async () => {
	const answer = new PassThrough({ highWaterMark: 1_000 });
	const stream = new EventStream(undefined, answer);
	stream.body.pipe(answer);
	stream.send("object", { body: "x".repeat(200_000) });
	answer.resume();
	await stream.whenRead(60_000);
	expect(stream.signal.aborted).toBe(false);
});

test("data are one line for every reader: also for those that end one at U+0085, U+2028 and U+2029", async () => {
	const stream = new EventStream();
	const data = { body: "a\u0085b\u2028c\u2029d\\u2028\n" };
	stream.send("accepted", data);
	stream.end("Stopping", data.body);
	const all = await text(stream.body);
	expect(all).not.toMatch(/[\u0085\u2028\u2029]/);
	const [accepted, end] = all.match(/(?<=^data: ).*$/gm)!;
	expect(JSON.parse(accepted!)).toEqual(data);
	expect(JSON.parse(end!).message).toBe(data.body);
});

test("a client that leaves ends the tail", async () => {
	const stream = new EventStream();
	stream.body.destroy();
	await expect.poll(() => stream.signal.aborted).toBe(true);
	stream.send("accepted", {});
});

test("an account has five tails at most, and a tail that ends makes room for one", () => {
	const tails = new OpenStreams("tails", { ofAccount: 5, ofAll: 100 });
	const leave = Array.from({ length: 5 }, () => tails.enter("shop"));
	expect(() => tails.enter("shop")).toThrow("5 open tails");
	tails.enter("bank");
	leave[0]!();
	leave[0]!();
	tails.enter("shop");
	expect(() => tails.enter("shop")).toThrow("5 open tails");
});

test("all accounts together have a bounded number of tails", () => {
	const tails = new OpenStreams("tails", { ofAccount: 5, ofAll: 100 });
	for (let i = 0; i < 100; i++) tails.enter(`account-${i}`);
	expect(() => tails.enter("one-more")).toThrow("Too many tails");
});
