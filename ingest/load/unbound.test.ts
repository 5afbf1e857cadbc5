import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { expect, test } from "vitest";
import { parseCheckInput } from "../job/process.ts";
import { check } from "./check.ts";

/* A Job sends nothing to a server that its Secret doesn't bind, whatever made its input. */

const context = {
	log: pino({ level: "silent" }),
	signal: new AbortController().signal,
	scratch: "/nowhere",
	warehouse: undefined,
	busyWaitMs: 0,
	onResult: () => undefined,
} as unknown as Parameters<typeof check>[1];

// Nobody listens there: a connection would end with another error.
const servers = {
	Postgres: {
		type: "Postgres",
		host: "127.0.0.1",
		port: 9,
		database: "shop",
		schema: "public",
		sslMode: "disable",
		isLocal: true,
	},
	ClickHouse: {
		type: "ClickHouse",
		url: "http://127.0.0.1:9",
		database: "shop",
		engine: "MergeTree",
		isLocal: true,
	},
};
const bindings = {
	Postgres: "postgres+disable://127.0.0.1:9",
	ClickHouse: "http://127.0.0.1:9",
};
const secret = join(mkdtempSync(join(tmpdir(), "unbound-")), "secret");
writeFileSync(secret, "tidemill");
const names = { namespace: "shop", clusterDomain: "cluster.local" };

test.each(["Postgres", "ClickHouse"] as const)(
	"%s: nothing is bound, or another server, port or TLS",
	async (type) => {
		const { code } = await checkWith(type, { to: [bindings[type]] });
		expect(code).toBe(`${type}Unavailable`);
		for (const bound of [
			undefined,
			{ to: [] },
			{ to: ["127.0.0.1:9", "no binding"] },
			{ to: [bindings[type].replace("127.0.0.1", "db")] },
			{ to: [bindings[type].replace(":9", ":10")] },
			{ to: ["postgres+require://127.0.0.1:9", "https://127.0.0.1:9"] },
		]) {
			const error = await checkWith(type, bound);
			expect(error.code, JSON.stringify(bound)).toBe("HostNotBound");
			expect(error.message).toContain("127.0.0.1:9");
		}
	},
);

async function checkWith(
	type: keyof typeof servers,
	bound: { to: string[] } | undefined,
): Promise<{ code: string; message: string }> {
	const files = ["USERNAME", "PASSWORD"].map(
		(name) => `TIDEMILL_${type.toUpperCase()}_${name}_FILE`,
	);
	for (const name of files) process.env[name] = secret;
	const destination = {
		...servers[type],
		...(bound && { bound: { ...names, ...bound } }),
	};
	const input = JSON.stringify({ version: 1, account: "shop", destination });
	const error = await check(parseCheckInput(input), context).then(
		() => undefined,
		(error) => error,
	);
	for (const name of files) delete process.env[name];
	return error;
}
