import { expect, test, vi } from "vitest";
import { CutConflict } from "../../archive/read/standby.ts";
import type { UncutFiles } from "../../archive/read/uncut-work.ts";
import { EarlyRequests } from "./early-requests.ts";

const source = { account: "shop", sourceKey: "5a" };
const events: UncutFiles = { stream: "s", first: 8, last: 9, files: [] };

/** Of a Run that needs all through 9, and of a session that has read so much and cuts from 8 on. */
function scene(
	more: { first?: number; bytes?: number; stream?: string } = {},
	uncut: { sources?: number; lastSequence?: number } = {},
) {
	const onRequest = vi.fn();
	const requests = new EarlyRequests({ workBetweenCuts: () => onRequest });
	const stop = new AbortController();
	const request = { stream: "s", sequence: 9, first: 8, bytes: 50, source };
	const asked = requests.ask({ ...request, ...more, signal: stop.signal });
	asked.catch(() => undefined);
	const reader = {
		stream: "s",
		next: 8,
		cutBytes: 100,
		uncut: {
			frames: 2,
			bytes: 50,
			sources: 100,
			sinceMs: 0,
			lastSequence: 9,
			...uncut,
		},
	};
	const read = vi.fn(async () => events);
	return { requests, asked, reader, read, stop, onRequest };
}

test("a Run gets its Source's events once all that it wants are read", async () => {
	const { requests, asked, reader, read, onRequest } = scene();
	expect(onRequest).toHaveBeenCalledTimes(1);
	const before = { ...reader, uncut: { ...reader.uncut, lastSequence: 8 } };
	expect(requests.isDue(before)).toBe(false);
	await requests.work(before, read);
	expect(read).not.toHaveBeenCalled();
	expect(requests.isDue(reader)).toBe(true);
	await requests.work(reader, read);
	expect(await asked).toBe(events);
	expect(read).toHaveBeenCalledExactlyOnceWith(source);
	expect(requests.isWaiting).toBe(false);
});

test.each([
	["few Sources have events", {}, { sources: 4 }],
	["the stream has more than two cuts", { bytes: 201 }, { lastSequence: 7 }],
	["the session reads another stream", { stream: "t" }, {}],
])("the events are to be cut if %s", async (_, request, uncut) => {
	const { requests, asked, reader, read } = scene(request, uncut);
	expect(requests.isDue(reader)).toBe(true);
	await requests.work(reader, read);
	expect(await asked).toBeUndefined();
	expect(read).not.toHaveBeenCalled();
});

test("a session that another archiver's cuts have overtaken learns them first", async () => {
	const { requests, reader, read } = scene({ first: 9 });
	expect(requests.isDue(reader)).toBe(true);
	await expect(requests.work(reader, read)).rejects.toThrow(CutConflict);
	expect(requests.isWaiting).toBe(true);
	await requests.work({ ...reader, next: 9 }, read);
	expect(read).toHaveBeenCalledTimes(1);
});

test("what fails is told to the Run that asked, and no session ends of it", async () => {
	const { requests, asked, reader } = scene();
	await requests.work(reader, async () => {
		throw new Error("no keys");
	});
	await expect(asked).rejects.toThrow("no keys");
});

test("a request ends with its signal, and all of them with an alarm", async () => {
	const given = scene();
	given.stop.abort(new Error("too late"));
	await expect(given.asked).rejects.toThrow("too late");
	expect(given.requests.isWaiting).toBe(false);
	const { requests, asked, stop } = scene();
	requests.stop();
	expect(await asked).toBeUndefined();
	const later = { stream: "s", sequence: 9, first: 8, bytes: 1, source };
	expect(await requests.ask({ ...later, signal: stop.signal })).toBeUndefined();
});
