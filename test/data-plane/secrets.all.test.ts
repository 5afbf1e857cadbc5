// In make test: packages/service/secret-files.test.ts
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { connect } from "@nats-io/transport-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../local/machine/ports.ts";
import {
	issueAuthority,
	issueCertificate,
	type KeyPair,
} from "../../operator/install/certificate.ts";
import { randomPassword } from "../../operator/install/secret-changes.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import { startArchiveProcess } from "../support/faults/archive-process.ts";
import { mountSecret } from "../support/faults/mounted-secret.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import {
	connectAdmin,
	createShardStream,
	reasonNotReady,
	startReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import {
	newSent,
	sendPersistently,
} from "../support/senders/persistent-sender.ts";
import { startServers } from "../support/servers/archive-servers.ts";
import {
	startReloadedCluster,
	startReloadedNats,
} from "../support/servers/reloaded-nats.ts";
import { startNats } from "../support/servers/servers.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

/* Processes with mounted Secrets that change while they run. */

/** Six times the 10 s within which a change takes effect, since this machine may be busy. */
const within = { timeout: 60_000, interval: 100 };

function newPasswords() {
	return {
		admin: randomPassword(),
		receive: randomPassword(),
		"receive-b": randomPassword(),
		archive: randomPassword(),
		operator: randomPassword(),
		api: randomPassword(),
		notify: randomPassword(),
	};
}

/** Receive with real NATS, whose passwords both read from mounted Secrets. */
async function startPair(passwords = newPasswords()) {
	const nats = await startReloadedNats(passwords);
	onTestFinished(() => nats.stop());
	const admin = await connectAdmin(nats);
	onTestFinished(() => admin.close());
	await createShardStream(admin);
	const routes = new TestRoutes(admin);
	const { path } = await routes.add();
	await routes.markSynced();
	const users = join(await passingDirectory("users"), "nats");
	const mountUsers = ({
		receive,
		"receive-b": b,
	}: Pick<typeof passwords, "receive" | "receive-b">) =>
		mountSecret(users, { receive, "receive-b": b });
	return { nats, passwords, path, users, mountUsers };
}

/** Settles when a process has read so many changes of its Secrets. */
function untilRead({ logFile }: { logFile: string }, changes: number) {
	return vi.waitFor(() => {
		const read = readFileSync(logFile, "utf8").match(/"read changed files"/g);
		expect(read?.length ?? 0).toBeGreaterThanOrEqual(changes);
	}, within);
}

function startReceiverWith(env: Record<string, string>, address: string) {
	return startReceiver({ urlFor: () => address }, { env });
}

test("a wrong password of NATS is told on /readyz, and the corrected one is taken without a restart", async () => {
	const { nats, passwords, users, mountUsers } = await startPair();
	mountUsers({ receive: "wrong", "receive-b": "wrong, too" });
	const receiver = await startReceiverWith(
		{ NATS_USERS_DIR: users },
		nats.address,
	);
	onTestFinished(() => receiver.stop());
	const { pid } = receiver;
	await vi.waitFor(async () => {
		const reason = await reasonNotReady(receiver);
		expect(reason).toContain("NATS refuses the user receive");
		expect(reason).toContain("Authorization Violation");
		expect(reason).not.toContain("wrong");
	}, within);
	mountUsers(passwords);
	await vi.waitFor(
		async () => expect(await reasonNotReady(receiver)).toBeUndefined(),
		within,
	);
	// Somebody replaces all passwords at once.
	const changed = newPasswords();
	nats.mount(changed);
	await vi.waitFor(
		async () =>
			expect(await reasonNotReady(receiver)).toContain(
				"Authorization Violation",
			),
		within,
	);
	mountUsers(changed);
	await vi.waitFor(
		async () => expect(await reasonNotReady(receiver)).toBeUndefined(),
		within,
	);
	expect(receiver.pid).toBe(pid);
});

test("api says on /readyz that NATS refuses it, and takes the corrected password without a restart", async () => {
	const { nats, passwords, users } = await startPair();
	const mount = (password: string) =>
		mountSecret(users, { api: password, "api-b": password });
	mount("wrong");
	const kubeconfig = join(await temporaryDirectory("api"), "kubeconfig");
	// No request of the test needs the apiserver.
	const { cluster, context, user } = {
		cluster: { name: "c", cluster: { server: "https://127.0.0.1:1" } },
		context: { name: "c", context: { cluster: "c", user: "u" } },
		user: { name: "u", user: {} },
	};
	await writeFile(
		kubeconfig,
		JSON.stringify({
			apiVersion: "v1",
			kind: "Config",
			clusters: [cluster],
			contexts: [context],
			users: [user],
			"current-context": "c",
		}),
	);
	const port = await freePort();
	const api = startTidemill(["api"], {
		KUBECONFIG: kubeconfig,
		NATS_URL: nats.address,
		NATS_USERS_DIR: users,
		API_PORT: "0",
		HEALTH_PORT: String(port),
	});
	onTestFinished(() => {
		api.child.kill("SIGTERM");
		return api.ended.then(() => undefined);
	});
	const readyz = async () =>
		(await fetch(`http://127.0.0.1:${port}/readyz`)).text();
	await vi.waitFor(async () => {
		const reason = await readyz();
		expect(reason).toContain("NATS refuses the user api");
		expect(reason).toContain("Authorization Violation");
		expect(reason).not.toContain("wrong");
	}, within);
	mount(passwords.api);
	await vi.waitFor(async () => expect(await readyz()).toBe("ok\n"), within);
	// NATS away alone is no reason to send nobody to it.
	await nats.kill();
	await vi.waitFor(async () => expect(await readyz()).toBe("ok\n"), within);
	expect(api.child.exitCode).toBeNull();
});

test("a certificate without its key changes nothing but a warning, and is served once the key is there", async () => {
	const authority = await issueAuthority("CN=authority", Date.now(), 1);
	const pair = () =>
		issueCertificate(
			{ name: "CN=nats", hosts: ["127.0.0.1", "localhost"] },
			authority,
			Date.now(),
			1,
		);
	const [before, after] = [await pair(), await pair()];
	const secretOf = ({ cert, key }: KeyPair) => ({
		"tls.crt": cert,
		"tls.key": key,
		"ca.crt": authority.cert,
	});
	const passwords = newPasswords();
	const nats = await startReloadedNats(passwords, { tls: secretOf(before) });
	onTestFinished(() => nats.stop());
	const served = async () =>
		(await servedCertificate(nats.address, authority.cert)).serialNumber;
	const serialOf = ({ cert }: KeyPair) =>
		new X509Certificate(cert).serialNumber;
	expect(await served()).toBe(serialOf(before));
	const connection = await connect({
		servers: nats.address,
		user: "admin",
		pass: passwords.admin,
		tls: { ca: authority.cert },
		reconnect: false,
	});
	nats.mountTls(secretOf({ cert: after.cert, key: before.key }));
	await vi.waitFor(
		() =>
			expect(nats.reloaderLog.join("\n")).toContain(
				"tls.crt and tls.key must belong together",
			),
		within,
	);
	expect(await served()).toBe(serialOf(before));
	// Another Secret's change is taken all the same once the pair is whole.
	nats.mountTls(secretOf(after));
	await vi.waitFor(
		async () => expect(await served()).toBe(serialOf(after)),
		within,
	);
	// Connections stay.
	expect(connection.isClosed()).toBe(false);
	await connection.flush();
	await connection.close();
});

/** About 20 events a second, until `end`. */
function sendSteadily(url: string) {
	const sent = newSent();
	let isOver = false;
	const sending = sendPersistently({
		urls: [url],
		senders: 4,
		body: (n) => JSON.stringify({ n }),
		isDone: () => isOver,
		sent,
		pauseMs: 190,
	});
	return {
		sent,
		/** Resolves once more than so many others are acknowledged. */
		untilMore: (count: number) => {
			const answered = sent.acknowledged.size;
			return vi.waitFor(
				() => expect(sent.acknowledged.size).toBeGreaterThan(answered + count),
				within,
			);
		},
		end: async () => {
			isOver = true;
			await sending;
		},
	};
}

test("three NATS servers get a role's new passwords one after the other, and no request fails", async () => {
	const passwords = newPasswords();
	const servers = await startReloadedCluster(passwords);
	onTestFinished(async () => {
		for (const server of servers) await server.stop();
	});
	const admin = await connectAdmin(servers[0]!);
	onTestFinished(() => admin.close());
	await vi.waitFor(() => createShardStream(admin, { num_replicas: 3 }), within);
	const routes = new TestRoutes(admin);
	const { path } = await routes.add();
	await routes.markSynced();
	const users = join(await passingDirectory("users"), "nats");
	const mountUsers = (given: typeof passwords) =>
		mountSecret(users, {
			receive: given.receive,
			"receive-b": given["receive-b"],
		});
	mountUsers(passwords);
	const receiver = await startReceiverWith(
		{ NATS_USERS_DIR: users, TIDEMILL_SHARDS: "1" },
		servers.map(({ address }) => address).join(),
	);
	onTestFinished(() => receiver.stop());
	await untilReady(receiver);
	const { sent, untilMore, end } = sendSteadily(receiver.url + path);
	const isRefused = async (address: string, user: string, pass: string) => {
		const connection = await connect({
			servers: address,
			user,
			pass,
			// The other servers of the cluster may take it.
			ignoreClusterUpdates: true,
			reconnect: false,
		}).catch(() => undefined);
		await connection?.close();
		return connection === undefined;
	};
	const changed = { ...passwords };
	for (const user of ["receive-b", "receive"] as const) {
		changed[user] = randomPassword();
		// A kubelet looks into a Secret when it comes to it: each server gets the change at a time of its own.
		for (const server of servers) {
			server.mount(changed);
			await vi.waitFor(
				async () =>
					expect(await isRefused(server.address, user, passwords[user])).toBe(
						true,
					),
				within,
			);
			await untilMore(40);
		}
		mountUsers(changed);
		await untilMore(40);
	}
	await end();
	expect(await reasonNotReady(receiver)).toBeUndefined();
	console.log(
		`three servers: ${sent.acknowledged.size} events acknowledged, ${sent.unknown.size} requests failed`,
	);
	expect(sent.unknown.size).toBe(0);
});

/** NATS says INFO in the clear, and then speaks TLS. */
async function servedCertificate(address: string, ca: string) {
	const { hostname, port } = new URL(address);
	const socket = connectTcp(Number(port), hostname);
	await once(socket, "data");
	const secure = connectTls({
		socket,
		ca,
		checkServerIdentity: () => undefined,
	});
	await once(secure, "secureConnect");
	const certificate = secure.getPeerCertificate();
	secure.destroy();
	return certificate;
}

test("both passwords of a role are replaced one after the other under 20 requests a second, and no request fails", async () => {
	const { nats, passwords, path, users, mountUsers } = await startPair();
	mountUsers(passwords);
	const receiver = await startReceiverWith(
		{ NATS_USERS_DIR: users },
		nats.address,
	);
	onTestFinished(() => receiver.stop());
	await untilReady(receiver);
	const { sent, untilMore, end } = sendSteadily(receiver.url + path);
	const refused = async (password: string, user: string) => {
		const connection = await connectAdmin({
			url: nats.address.replace("//", `//${user}:${password}@`),
		}).catch(() => undefined);
		await connection?.close();
		return connection === undefined;
	};
	const changed = { ...passwords };
	// Either may see its Secret first.
	for (const user of ["receive-b", "receive"] as const) {
		changed[user] = randomPassword();
		if (user === "receive") nats.mount(changed);
		else {
			mountUsers(changed);
			await untilRead(receiver, 1);
			nats.mount(changed);
		}
		await vi.waitFor(
			async () => expect(await refused(passwords[user], user)).toBe(true),
			within,
		);
		await untilMore(60);
		mountUsers(changed);
	}
	await untilRead(receiver, 2);
	await end();
	expect(await reasonNotReady(receiver)).toBeUndefined();
	const longestMs = Math.max(
		...sent.acknowledged
			.values()
			.map(({ sentAtMs, answeredAtMs }) => answeredAtMs - sentAtMs),
	);
	console.log(
		`${sent.acknowledged.size} events acknowledged, ${sent.unknown.size} requests failed, the longest waited ${longestMs} ms`,
	);
	expect(sent.unknown.size).toBe(0);
});

test.each([
	["accessKeyId", "XAdminUserNotFound"],
	["secretAccessKey", "SignatureDoesNotMatch"],
])(
	"a wrong %s of the store is told in the store's words, and the corrected one is taken without a restart",
	async (name, code) => {
		const servers = await startServers();
		onTestFinished(() => servers.stop());
		const archive = await ArchiveFixture.open(servers);
		const { accessKeyId, secretAccessKey } = servers.s3;
		const right = { accessKeyId, secretAccessKey };
		const keys = join(await passingDirectory("keys"), "s3");
		mountSecret(keys, { ...right, [name]: "wrong" });
		const { child, readyz } = await startArchiveProcess(archive, {
			AWS_ACCESS_KEY_ID: "",
			AWS_SECRET_ACCESS_KEY: "",
			S3_KEYS_DIR: keys,
		});
		await vi.waitFor(async () => {
			const reason = await readyz();
			expect(reason).toContain(code);
			expect(reason).toContain(`Correct ${name} in the store's Secret`);
		}, within);
		mountSecret(keys, right);
		await vi.waitFor(async () => expect(await readyz()).toBe("ok\n"), within);
		expect(child.exitCode).toBeNull();
	},
);

test("a store's keys that are revoked while archive runs stop it only until the new ones are there", async () => {
	const servers = await startServers();
	onTestFinished(() => servers.stop());
	const archive = await ArchiveFixture.open(servers);
	const { accessKeyId, secretAccessKey } = servers.s3;
	const right = { accessKeyId, secretAccessKey };
	const keys = join(await passingDirectory("keys"), "s3");
	mountSecret(keys, right);
	const { readyz } = await startArchiveProcess(archive, {
		AWS_ACCESS_KEY_ID: "",
		AWS_SECRET_ACCESS_KEY: "",
		S3_KEYS_DIR: keys,
	});
	await vi.waitFor(async () => expect(await readyz()).toBe("ok\n"), within);
	mountSecret(keys, { ...right, secretAccessKey: "revoked" });
	// As long as the former key is in use, it archives.
	const bodies: string[] = [];
	await vi.waitFor(
		async () => {
			bodies.push(String(bodies.length));
			await archive.publish([newEvent(bodies.at(-1)!)]);
			expect(await readyz()).toContain("SignatureDoesNotMatch");
		},
		{ ...within, interval: 500 },
	);
	mountSecret(keys, right);
	await vi.waitFor(
		async () => expect((await archive.bodies()).sort()).toEqual(bodies.sort()),
		within,
	);
	expect(await readyz()).toBe("ok\n");
});

test("the seal key is replaced by way of a second one, and senders' tokens are taken all along", async () => {
	const nats = await startNats();
	onTestFinished(() => nats.stop());
	const admin = await connectAdmin(nats);
	onTestFinished(() => admin.close());
	await createShardStream(admin);
	const routes = new TestRoutes(admin);
	await routes.markSynced();
	const [former, next] = [randomPassword(), randomPassword()];
	const directory = join(await passingDirectory("seal"), "seal");
	mountSecret(directory, { "seal-key": former });
	const receiver = await startReceiver(nats, {
		env: { TIDEMILL_SEAL_KEY: join(directory, "seal-key") },
	});
	onTestFinished(() => receiver.stop());
	const token = "a token of sixteen bytes";
	const { path, route } = await routes.add();
	// What operator writes.
	const sealWith = (key: string) => {
		const sealKey = new SealKey(Buffer.from(key));
		return routes.put({
			...route,
			authorization: {
				type: "CustomToken",
				digests: [sealKey.digest(token, route.sourceKey)],
				sealKeyId: sealKey.id,
			},
		});
	};
	const answer = async () => {
		const headers = { authorization: `Bearer ${token}` };
		return (await sendJSON(receiver.url + path, "{}", { headers })).status;
	};
	await sealWith(former);
	await untilReady(receiver);
	await vi.waitFor(async () => expect(await answer()).toBe(200), within);
	const answers = new Set<number>();
	let isOver = false;
	const sending = (async () => {
		while (!isOver) {
			answers.add(await answer());
			await delay(50);
		}
	})();
	mountSecret(directory, { "seal-key": former, "seal-key-next": next });
	await untilRead(receiver, 1);
	await sealWith(next);
	mountSecret(directory, { "seal-key": next, "seal-key-former": former });
	await untilRead(receiver, 2);
	mountSecret(directory, { "seal-key": next });
	await untilRead(receiver, 3);
	isOver = true;
	await sending;
	expect([...answers]).toEqual([200]);

	// A receiver that learns of a key late serves the Source once it has.
	const last = randomPassword();
	await sealWith(last);
	await vi.waitFor(async () => expect(await answer()).toBe(503), within);
	mountSecret(directory, { "seal-key": next, "seal-key-next": last });
	await vi.waitFor(async () => expect(await answer()).toBe(200), within);
});

test("a process whose Secret can't be used says so on /readyz, and starts once it is put right", async () => {
	const nats = await startNats();
	onTestFinished(() => nats.stop());
	const directory = join(await passingDirectory("seal"), "seal");
	mountSecret(directory, { "seal-key": "short" });
	const receiver = await startReceiver(nats, {
		env: { TIDEMILL_SEAL_KEY: join(directory, "seal-key") },
	});
	onTestFinished(() => receiver.stop());
	const { pid } = receiver;
	await vi.waitFor(
		async () =>
			expect(await reasonNotReady(receiver)).toContain("TIDEMILL_SEAL_KEY"),
		within,
	);
	mountSecret(directory, { "seal-key": randomPassword() });
	await vi.waitFor(
		async () =>
			expect(await reasonNotReady(receiver)).toContain("doesn't exist yet"),
		within,
	);
	expect(receiver.pid).toBe(pid);
});
