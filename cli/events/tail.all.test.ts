// In make test: cli/events/server-events.test.ts
import { expect, test, vi } from "vitest";
import { CommandError } from "../command/errors.ts";
import { RestError } from "../command/rest.ts";
import { type TailEvent, tail, tailLine } from "./tail.ts";

const answerOf = (...events: [name: string, data: object, id?: string][]) =>
	new Response(
		events
			.map(
				([name, data, id]) =>
					`${id ? `id: ${id}\n` : ""}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`,
			)
			.join(""),
	);

test("when the connection ends, it connects again behind the last event", async () => {
	const over = new AbortController();
	const lastIds: (string | undefined)[] = [];
	const seen: TailEvent[] = [];
	const get = vi.fn(async (_path, _query, { headers }) => {
		lastIds.push(headers["last-event-id"]);
		if (lastIds.length === 3) over.abort();
		return answerOf(
			["accepted", { n: lastIds.length }, `id-${lastIds.length}`],
			["refused", {}],
			["end", { reason: "Stopping", message: "Connect again." }],
		);
	});
	await tail({ get }, "/x", {}, (event) => seen.push(event), over.signal);
	expect(lastIds).toEqual([undefined, "id-1", "id-2"]);
	expect(seen.map(({ name }) => name)).not.toContain("end");
});

test("it ends when the token has expired or a right was taken away", async () => {
	const get = async () =>
		answerOf(["end", { reason: "Unauthorized", message: "Expired." }]);
	await expect(tail({ get }, "/x", {}, () => undefined)).rejects.toThrow(
		"Expired. (Unauthorized)",
	);
});

test("it ends when the API refuses it at once", async () => {
	const get = async () => {
		throw new CommandError("There is no source");
	};
	await expect(tail({ get }, "/x", {}, () => undefined)).rejects.toThrow(
		"There is no source",
	);
});

test.each([
	[410, "ends"],
	[403, "ends"],
	[429, "goes on"],
	[503, "goes on"],
] as const)(
	"refused with %i when it connects again, it %s",
	async (status, what) => {
		const over = new AbortController();
		let times = 0;
		const get = async () => {
			if (++times === 1) return answerOf(["accepted", {}, "id-1"]);
			if (times === 3) over.abort();
			throw new RestError(status, "No more.");
		};
		const tailing = tail({ get }, "/x", {}, () => undefined, over.signal);
		if (what === "ends") await expect(tailing).rejects.toThrow("No more.");
		else await tailing;
		expect(times).toBe(what === "ends" ? 2 : 3);
	},
);

test("an API that ends each tail at once is asked ever more seldom, until events come again", async () => {
	const over = new AbortController();
	const waits: number[] = [];
	const end = ["end", { reason: "Stopping", message: "" }] as const;
	const get = async () => {
		if (waits.length === 4) over.abort();
		return waits.length === 3
			? answerOf(["accepted", {}, "id-1"], [...end])
			: answerOf([...end]);
	};
	const wait = async (timeMs: number) => void waits.push(timeMs);
	const random = vi.spyOn(Math, "random").mockReturnValue(1);
	await tail({ get }, "/x", {}, () => undefined, over.signal, wait);
	random.mockRestore();
	expect(waits).toEqual([500, 1_000, 2_000, 500, 1_000]);
});

test("a line says when and what, and can't write to the terminal", () => {
	const time = "2026-03-01T12:00:00.000Z";
	expect(
		tailLine({
			name: "accepted",
			data: { time, eventID: "e", type: "a\u001b[2Jb", bytes: 7 },
		}),
	).toBe(`${time}   accepted      e   a [2Jb   7 B\n`);
	expect(
		tailLine({ name: "refused", data: { time, status: 401, code: "C" } }),
	).toBe(`${time}   refused       401 C\n`);
});
