import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	choosePorts,
	freePort,
	type LocalPorts,
	reservePort,
	usualPorts,
} from "./ports.ts";

/** A machine with some ports taken. Free ports count up from 40000, the first one twice. */
function machine(...taken: number[]) {
	const free = [40000, 40000, 40001, 40002, 40003, 40004, 40005, 40006];
	return {
		isFree: async (port: number) => !taken.includes(port),
		freePort: async () => free.shift()!,
	};
}

test("free usual ports are used, no port twice", async () => {
	const ports = await choosePorts({}, "ports.json", machine());
	expect(ports).toMatchObject({ apiserver: 6443, receive: 8080, s3: 7070 });
	expect(new Set(Object.values(ports)).size).toBe(
		Object.keys(usualPorts).length,
	);
});

test("a taken usual port is replaced by another port", async () => {
	const ports = await choosePorts({}, "ports.json", machine(8080));
	expect(ports.receive).toBe(40000);
});

test("remembered ports are kept, since webhook URLs name them", async () => {
	const ports = await choosePorts({ receive: 41234 }, "p", machine());
	expect(ports.receive).toBe(41234);
});

test("a remembered port that is taken is an error that says what to do", async () => {
	const remembered: Partial<LocalPorts> = { receive: 8080 };
	await expect(
		choosePorts(remembered, "/home/me/ports.json", machine(8080)),
	).rejects.toThrow(
		/Port 8080.*receive.*taken.*Stop that program; or remove \/home\/me\/ports.json/,
	);
});

test("a port can be reserved once, so that two simultaneous starts get different ports", async () => {
	const claims = mkdtempSync(join(tmpdir(), "tidemill-ports-"));
	const port = await freePort();
	expect(await reservePort(port, claims)).toBe(true);
	expect(await reservePort(port, claims)).toBe(false);
});

test("no port is given twice, and none is an ephemeral port", async () => {
	const ports: number[] = [];
	for (let n = 0; n < 500; n++) ports.push(await freePort());
	expect(new Set(ports).size).toBe(ports.length);
	expect(Math.max(...ports)).toBeLessThan(30_000);
});
