import type { NatsConnection } from "@nats-io/transport-node";
import { expect, test, vi } from "vitest";
import type { Logger } from "../packages/service/log.ts";
import { reloadNats } from "./nats-reload.ts";

const message = (json: object) => ({ json: () => json });
const servers = ["one", "two"].map((name) => ({ id: `ID-${name}`, name }));

test("every server reads its certificates anew again and again, however the time before went", async () => {
	const asked: string[] = [];
	let isAway = true;
	const nats = {
		requestMany: async () => {
			if (isAway) throw new Error("no servers");
			return servers.map((server) => message({ server }));
		},
		request: async (subject: string) => {
			asked.push(subject);
			const error = { code: 500, description: "bad certificate" };
			return message(subject.includes("two") ? { error } : {});
		},
	} as unknown as NatsConnection;
	const warn = vi.fn();
	const stop = new AbortController();
	const log = { warn } as unknown as Logger;
	const running = reloadNats(nats, 1, log, stop.signal);
	await vi.waitUntil(() => warn.mock.calls.length > 0);
	expect(asked).toEqual([]);
	isAway = false;
	await vi.waitUntil(() => asked.length >= 4);
	const both = servers.map(({ id }) => `$SYS.REQ.SERVER.${id}.RELOAD`);
	expect(asked.slice(0, 4)).toEqual([...both, ...both]);
	expect(warn).toHaveBeenLastCalledWith(
		{ server: "two", reason: "bad certificate" },
		expect.stringContaining("goes on with what it has"),
	);
	stop.abort();
	await running;
});
