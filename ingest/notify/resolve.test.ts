import { createSocket } from "node:dgram";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resolveName } from "./resolve.ts";

const hosts = `# of this machine
127.0.0.1 localhost
::1       localhost  Receiver.internal # local
fe80::1%eth0 neighbour
nonsense  broken
`;

async function files() {
	const folder = await mkdtemp(join(tmpdir(), "resolve-"));
	onTestFinished(() => rm(folder, { recursive: true }));
	const hostsFile = join(folder, "hosts");
	const resolvFile = join(folder, "resolv.conf");
	writeFileSync(hostsFile, hosts);
	writeFileSync(resolvFile, "search cluster.local\noptions ndots:5\n");
	return { hostsFile, resolvFile };
}

/** Answers A with the name's address, if it has one (RFC 1035 §4.1), and every other question with "no such name". */
async function nameServer(addresses: Record<string, number[]> | "silent") {
	const asked: string[] = [];
	const socket = createSocket("udp4");
	socket.on("message", (question, { port, address }) => {
		const labels: string[] = [];
		let at = 12;
		for (; question[at]! > 0; at += question[at]! + 1)
			labels.push(question.toString("ascii", at + 1, at + 1 + question[at]!));
		const name = labels.join(".").toLowerCase();
		asked.push(name);
		if (addresses === "silent") return;
		const isA = question.readUInt16BE(at + 1) === 1;
		const found = isA ? addresses[name] : undefined;
		const answer = Buffer.concat([
			question.subarray(0, at + 5),
			found
				? Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, ...found])
				: Buffer.alloc(0),
		]);
		answer.writeUInt16BE(found ? 0x8180 : 0x8183, 2);
		answer.writeUInt16BE(found ? 1 : 0, 6);
		answer.writeUInt16BE(0, 10);
		socket.send(answer, port, address);
	});
	await new Promise<void>((resolve) =>
		socket.bind(0, "127.0.0.1", () => resolve()),
	);
	onTestFinished(() => void socket.close());
	return { nameServers: [`127.0.0.1:${socket.address().port}`], asked };
}

const signal = new AbortController().signal;

test("a name of /etc/hosts has the addresses there, and nobody is asked", async () => {
	const { nameServers, asked } = await nameServer("silent");
	const options = { ...(await files()), nameServers, signal };
	expect(await resolveName("localhost", options)).toEqual([
		{ address: "127.0.0.1", family: 4 },
		{ address: "::1", family: 6 },
	]);
	expect(await resolveName("receiver.internal", options)).toHaveLength(1);
	// The zone says which of the machine's networks it is (RFC 4007 §11).
	expect(await resolveName("neighbour", options)).toEqual([
		{ address: "fe80::1%eth0", family: 6 },
	]);
	expect(asked).toEqual([]);
});

test("other names are DNS's, in full or in a search domain", async () => {
	const { nameServers } = await nameServer({
		"hooks.example.com": [192, 0, 2, 1],
		"alertmanager.monitoring.svc.cluster.local": [10, 0, 0, 7],
	});
	const options = { ...(await files()), nameServers, signal };
	for (const [name, address] of [
		["hooks.example.com", "192.0.2.1"],
		["alertmanager.monitoring.svc", "10.0.0.7"],
	] as const)
		expect(await resolveName(name, options)).toEqual([{ address, family: 4 }]);
	await expect(resolveName("none.example.com", options)).rejects.toMatchObject({
		code: "ENOTFOUND",
	});
});

test("names whose servers are silent hold up no other, and end with the signal", async () => {
	const silent = await nameServer("silent");
	const answering = await nameServer({ "bank.example.com": [192, 0, 2, 1] });
	const given = await files();
	const ended = new AbortController();
	const slow = Array.from({ length: 50 }, (_, i) =>
		resolveName(`${i}.example.com`, {
			...given,
			nameServers: silent.nameServers,
			signal: ended.signal,
		}).catch(({ code, name }) => code ?? name),
	);
	await expect
		.poll(() => new Set(silent.asked).size, { timeout: 20_000 })
		.toBe(50);
	const { nameServers } = answering;
	const options = { ...given, nameServers, signal };
	expect(await resolveName("bank.example.com", options)).toHaveLength(1);
	ended.abort();
	expect(await Promise.all(slow)).toHaveLength(50);
});
