import { expect, test, vi } from "vitest";
import { type StoreRequest, StoreRequests } from "./store-requests.ts";

const answer = (statusCode: number) => async () => ({
	response: { statusCode },
});
const silence = async (): Promise<{ response: unknown }> => {
	throw Object.assign(new Error("no answer"), { name: "TimeoutError" });
};

test("each try is told with its status, and one without an answer as 0", async () => {
	const told: StoreRequest[] = [];
	const requests = new StoreRequests((request) => told.push(request));
	await requests.send("GetObject", answer(404));
	await requests.send("PutObject", answer(200));
	await expect(requests.send("PutObject", silence)).rejects.toThrow();
	expect(told.map(({ operation, status }) => [operation, status])).toEqual([
		["GetObject", 404],
		["PutObject", 200],
		["PutObject", 0],
	]);
	expect(told.every(({ seconds }) => seconds >= 0)).toBe(true);
});

test("a server that leaves a request without an answer for 20 s isn't ready until it answers again", async () => {
	vi.useFakeTimers({ toFake: ["performance"] });
	try {
		const requests = new StoreRequests();
		let give = () => {};
		const late = requests.send(
			"PutObject",
			() =>
				new Promise<{ response: unknown }>((resolve) => {
					give = () => resolve({ response: { statusCode: 200 } });
				}),
		);
		vi.advanceTimersByTime(19_000);
		expect(requests.notReady()).toBeUndefined();
		vi.advanceTimersByTime(1_000);
		expect(requests.notReady()).toContain("hasn't answered for 20 s");
		// Another's answer shows that it is there.
		await requests.send("GetObject", answer(503));
		expect(requests.notReady()).toBeUndefined();
		vi.advanceTimersByTime(20_000);
		expect(requests.notReady()).toBeDefined();
		give();
		await late;
		expect(requests.notReady()).toBeUndefined();
	} finally {
		vi.useRealTimers();
	}
});

test("a failure is remembered until the next try, not for ever, and a stop is none", async () => {
	vi.useFakeTimers({ toFake: ["performance"] });
	try {
		const requests = new StoreRequests();
		await expect(requests.send("GetObject", silence)).rejects.toThrow();
		vi.advanceTimersByTime(30_000);
		expect(requests.notReady()).toContain("for 30 s");
		vi.advanceTimersByTime(90_000);
		expect(requests.notReady()).toBeUndefined();
		// A request that waits isn't blamed for a silence of long ago.
		let give = () => {};
		const next = requests.send("GetObject", async () => {
			await new Promise<void>((resolve) => (give = resolve));
			return { response: { statusCode: 200 } };
		});
		expect(requests.notReady()).toBeUndefined();
		give();
		await next;
		const stopped = async () => {
			throw Object.assign(new Error("stopped"), { name: "AbortError" });
		};
		await expect(requests.send("GetObject", stopped)).rejects.toThrow();
		vi.advanceTimersByTime(30_000);
		expect(requests.notReady()).toBeUndefined();
	} finally {
		vi.useRealTimers();
	}
});
