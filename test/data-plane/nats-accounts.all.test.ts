// In make test: test/data-plane/nats-users.laptop.test.ts
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { connect, headers, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { natsAccount } from "../../operator/install/nats-config.ts";
import {
	type NatsRole,
	natsPermissions,
	natsRoles,
} from "../../operator/install/nats-users.ts";
import {
	bucket,
	changesSubject,
	framesSubject,
	makeSubject,
	notifications,
	rates,
	refused,
	reloadSubject,
	serverStateSubject,
} from "../../packages/contracts/nats.ts";
import { readStoredBatch } from "../../packages/service/nats/stored-batch.ts";
import { openWatched, readEntries } from "../../packages/streams/changes.ts";
import { streamOf } from "../../packages/streams/made-streams.ts";
import {
	configurations,
	mayPublish,
	type NatsAccounts,
	startNatsAccounts,
	victims,
} from "../support/fixtures/nats/accounts.ts";

let scene: NatsAccounts;
let admin: NatsConnection;
let manager: JetStreamManager;

beforeAll(async () => {
	scene = await startNatsAccounts();
	admin = scene.admin;
	manager = await jetstreamManager(admin);
});

afterAll(() => scene.stop());

const strangers = ["receive", "operator", "api", "notify"] as const;

/** Who may what, as docs/security.md tells people: a line for each user. */
const told = new Map(
	readFileSync(join(import.meta.dirname, "../../docs/security.md"), "utf8")
		.split("\n| NATS user | Its account | Settings")[1]!
		.split("\n\n")[0]!
		.split("\n")
		.slice(2)
		.map((line) => line.split("|").map((cell) => cell.trim()))
		.map(([, user = "", ...cells]) => [user.replaceAll("`", ""), cells]),
);

test("docs/security.md names each user's account", () => {
	expect([...told].map(([user, [account]]) => [user, account])).toEqual(
		natsRoles.map((role) => [role, `\`${natsAccount(role)}\``]),
	);
});

test.each(natsRoles)(
	"%s: of all settings, those pass that docs/security.md names",
	async (role) => {
		const as = scene.as[role];
		const passed = new Set<string>();
		for (const [kind, settings] of Object.entries(configurations)) {
			const before = await scene.settings();
			for (const { subject, payload } of scene.settingRequests(role, settings))
				as.publish(subject, JSON.stringify(payload), {
					reply: `_INBOX_${role}.settings`,
				});
			await scene.barrier(role);
			if ((await scene.settings()) !== before) passed.add(kind);
			await scene.restore();
		}
		expect([...passed].join(", ") || "none").toBe(told.get(role)?.[1]);
	},
	300_000,
);

test.each(natsRoles)(
	"%s: an answer reaches no foreign subject, unless docs/security.md says so",
	async (role) => {
		const as = scene.as[role];
		const reached = new Set<string>();
		const foreign = Object.entries(victims).filter(
			([, subject]) => !mayPublish(role, subject),
		);
		expect(foreign.length).toBeGreaterThan(10);
		scene.heard.length = 0;
		const before = await scene.messages();
		for (const subject of scene.requests(role)) {
			for (const [, reply] of foreign) as.publish(subject, "{}", { reply });
			await scene.barrier(role);
		}
		for (const [kind, reply] of foreign)
			if (scene.heard.includes(reply)) reached.add(kind);
		// The role's own streams got what it sent.
		const changed = [...(await scene.messages())]
			.filter(([stream, last]) => before.get(stream) !== last)
			.map(([stream]) => stream)
			.filter((stream) => !scene.mayFill(role, stream));
		const isTrusted = role === "archive";
		expect(changed.length > 0).toBe(isTrusted);
		expect(reached.size > 0 ? "all of its account" : "none").toBe(
			told.get(role)?.[2],
		);
	},
	300_000,
);

test("archive reaches all of its account, and no inbox of another", async () => {
	const heard: string[] = [];
	for (const role of strangers)
		scene.as[role].subscribe(`_INBOX_${role}.victim`, {
			callback: (_, { subject }) => void heard.push(subject),
		});
	for (const role of strangers) await scene.as[role].flush();
	scene.heard.length = 0;
	const { archive } = scene.as;
	for (const role of strangers) {
		const victim = `_INBOX_${role}.victim`;
		archive.publish("$JS.API.INFO", "", { reply: victim });
		const config = { deliver_subject: victim, ack_policy: "none" };
		archive.publish(
			`$JS.API.CONSUMER.CREATE.${streamOf(bucket.routes)}`,
			JSON.stringify({ stream_name: streamOf(bucket.routes), config }),
		);
	}
	await (await new Kvm(admin).open(bucket.routes)).put("source.victim", "1");
	await scene.barrier("archive");
	for (const role of strangers) {
		expect(scene.heard).toContain(`_INBOX_${role}.victim`);
		await scene.as[role].flush();
	}
	expect(heard).toEqual([]);
	await scene.restore();
});

test("no user can acknowledge or name another's order by a reply subject", async () => {
	const order = notifications.subject("shop");
	await admin.request(order, "{}");
	const { num_pending } = await manager.consumers.info(
		notifications.stream,
		notifications.consumer,
	);
	expect(num_pending).toBeGreaterThan(0);
	const ack = `$JS.ACK.${notifications.stream}.${notifications.consumer}.1.1.1.1.0`;
	const none = `$KV.${bucket.requests}.none`;
	scene.as.api.publish(
		`$JS.API.DIRECT.GET.KV_${bucket.requests}`,
		JSON.stringify({ last_by_subj: none }),
		{ reply: ack },
	);
	await scene.barrier("api");
	const { state } = await manager.streams.info(notifications.stream);
	expect(state.messages).toBe(num_pending);
	expect(scene.heard).not.toContain(ack);
});

const of = (role: NatsRole) => strangers.filter((one) => one !== role);
const attempts: [what: string, by: readonly NatsRole[], subject: string][] = [
	["lists source keys", ["api", "notify"], inspection(bucket.sourceKeys)],
	["lists ledgers", ["api", "notify"], inspection(bucket.ledger)],
	["lists routes", ["api", "notify"], inspection(bucket.routes)],
	["lists callers' keys", of("api"), inspection(bucket.requests)],
	// Receive and notify answer questions in their own accounts, where no other role's come.
	["answers another's question", ["operator", "api"], "_R_.victim.0"],
	[
		"forges a change of a route",
		strangers,
		`tidemill.changes.${bucket.routes}.source.victim`,
	],
	["has rates made", of("api"), `tidemill.make.${rates.stream}`],
	["has routes made", of("operator"), `tidemill.make.KV_${bucket.routes}`],
	["has orders' consumer made", of("notify"), "tidemill.make.notify"],
	["deletes routes", strangers, `$JS.API.STREAM.DELETE.KV_${bucket.routes}`],
	["empties routes", strangers, `$JS.API.STREAM.PURGE.KV_${bucket.routes}`],
	[
		"takes orders",
		of("notify"),
		`$JS.API.CONSUMER.MSG.NEXT.${notifications.stream}.${notifications.consumer}`,
	],
	[
		"deletes orders' consumer",
		strangers,
		`$JS.API.CONSUMER.DELETE.${notifications.stream}.${notifications.consumer}`,
	],
	["reloads the server", of("operator"), reloadSubject("*")],
	[
		"reads a frame",
		strangers,
		"$JS.API.STREAM.MSG.GET.tidemill-frames-0-0123456789abcdef",
	],
];

test.each(
	attempts.flatMap(([what, by, subject]) =>
		by.map((role) => ({ role, what, subject })),
	),
)("$role $what: refused", async ({ role, subject }) => {
	await expect(
		scene.as[role].request(subject, '{"subjects_filter":">"}'),
	).rejects.toThrow(/Permissions Violation/);
});

test.each(strangers)("%s hears no other account", async (role) => {
	const subjects = [
		changesSubject(bucket.sourceKeys, ">"),
		"tidemill.archive.>",
		"_R_.>",
		"$KV.>",
		">",
	].filter((one) => !natsPermissions[role].subscribe.includes(one));
	for (const subject of subjects) {
		const { closed } = scene.as[role].subscribe(subject);
		expect(String(await closed), subject).toMatch(/Permissions Violation/);
	}
});

test("a role reads all of a large bucket, each key's last entry in order, and no consumer is made", async () => {
	await scene.restore();
	const { operator } = scene.as;
	const keys = await new Kvm(operator).open(bucket.sourceKeys);
	const names = Array.from({ length: 1_500 }, (_, n) => `key-${n}`);
	await Promise.all(names.map((name) => keys.put(name, "shop")));
	await keys.put("key-0", "again");
	await keys.delete("key-1");
	const entries = await Array.fromAsync(
		readEntries(operator, bucket.sourceKeys),
	);
	expect(entries.map(({ key }) => key).sort()).toEqual(names.sort());
	expect(entries.slice(-2)).toMatchObject([
		{ key: "key-0", operation: "PUT" },
		{ key: "key-1", operation: "DEL" },
	]);
	expect(entries.map(({ revision }) => revision)).toEqual(
		entries.map(({ revision }) => revision).toSorted((a, b) => a - b),
	);
	const { state } = await manager.streams.info(`KV_${bucket.sourceKeys}`);
	expect(state.consumer_count).toBe(0);
});

test("a watch that misses a change ends, so that the bucket is read again", async () => {
	const routes = await new Kvm(admin).open(bucket.routes);
	await routes.put("source.a", "1");
	const watch = await (
		await openWatched(scene.as.receive, bucket.routes)
	).watch();
	const seen: string[] = [];
	for await (const { key, revision, isUpdate } of watch) {
		if (!isUpdate) continue;
		seen.push(key);
		if (seen.length > 1) continue;
		await routes.put("source.b", "1");
		const lost = headers();
		lost.set("Nats-Sequence", String(revision + 3));
		const subject = changesSubject(bucket.routes, "source.c");
		admin.publish(subject, "3", { headers: lost });
	}
	expect(seen).toEqual(["source.a", "source.b"]);
});

test("settings that a role sends along when it has a stream made are nobody's", async () => {
	const before = await scene.settings();
	const settings = JSON.stringify(configurations.republish);
	const answer = await scene.as.api.request(
		makeSubject(rates.stream),
		settings,
	);
	expect(answer.json()).toEqual({ ok: true });
	expect(await scene.settings()).toBe(before);
});

test.each(strangers)(
	"%s: what NATS tells of a message on its way goes to no foreign subject",
	async (role) => {
		const foreign = Object.values(victims).filter(
			(subject) => !mayPublish(role, subject),
		);
		scene.heard.length = 0;
		for (const subject of scene.requests(role)) {
			for (const victim of foreign) {
				const traced = headers();
				traced.set("Nats-Trace-Dest", victim);
				scene.as[role].publish(subject, "{}", {
					headers: traced,
					reply: `_INBOX_${role}.traced`,
				});
			}
			await scene.barrier(role);
		}
		expect(scene.heard.length).toBeGreaterThan(0);
		expect(foreign.filter((one) => scene.heard.includes(one))).toEqual([]);
		await scene.restore();
	},
	300_000,
);

test("the API gets no ledger from NATS itself, which takes a wildcard for a key", async () => {
	await scene.restore();
	const ledger = await new Kvm(admin).open(bucket.ledger);
	await ledger.put("other", "counts");
	for (const key of ["other", ">", "*"])
		await expect(
			scene.as.api.request(
				`$JS.API.DIRECT.GET.KV_${bucket.ledger}.$KV.${bucket.ledger}.${key}`,
			),
			key,
		).rejects.toThrow(/Permissions Violation/);
	// Whose stream it may read tells it no key of a Source.
	const key = "0123456789abcdef".repeat(2);
	await scene.as.receive.request(refused.subject("shop", key), "{}");
	const [found] = await readStoredBatch(scene.as.api, refused.stream, {
		...{ seq: 1, batch: 10 },
		next_by_subj: ">",
	});
	expect(found?.subject).toMatch(/^tidemill\.refused\.shop\.[0-9a-f]{32}$/);
	expect(found?.subject).not.toContain(key);
});

test("who may ask whether NATS syncs its writes learns no key and no name by it", async () => {
	await scene.restore();
	const keys = await new Kvm(admin).open(bucket.sourceKeys);
	await keys.put("fedcba9876543210", "the-shop");
	const answer = await scene.as.receive.request(
		serverStateSubject,
		JSON.stringify({
			...{ accounts: true, streams: true, consumer: true },
			...{ config: true, raft: true },
		}),
	);
	expect(answer.string()).not.toContain("fedcba9876543210");
	expect(answer.string()).not.toContain("the-shop");
});

test.each([
	["without a user", {}],
	["as an account", { user: "tidemill", pass: "tidemill" }],
	["as admin without a password", { user: "admin" }],
	["as admin with an empty one", { user: "admin", pass: "" }],
	["as the system's account", { user: "system", pass: "system" }],
	["with a token", { token: "admin" }],
])("nobody signs in %s", async (_, credentials) => {
	await expect(
		connect({ servers: scene.servers, ...credentials, reconnect: false }),
	).rejects.toThrow(/Authorization Violation/i);
});

test("a frame, a key or a count can't empty its stream, come later or elsewhere, or in one with others", async () => {
	await scene.restore();
	const before = await scene.settings();
	const own = [
		["receive", framesSubject(0)],
		["receive", refused.subject("shop", "key")],
		["api", rates.subject(1, "mine")],
		["operator", notifications.subject("shop")],
	] as const;
	for (const [role, subject] of own) {
		await scene.as[role].request(subject, "1").catch(() => undefined);
		const count = () => messagesAt(subject);
		const stored = await count();
		for (const [name, value] of [
			["Nats-Rollup", "all"],
			["Nats-Rollup", "sub"],
			["Nats-Schedule", "@at 2026-01-01T00:00:00Z"],
			["Nats-Schedule-Target", `$KV.${bucket.routes}.victim`],
			["Nats-Batch-Id", "one"],
		] as const) {
			const set = headers();
			set.set(name, value);
			if (name === "Nats-Schedule")
				set.set("Nats-Schedule-Target", `$KV.${bucket.routes}.victim`);
			if (name === "Nats-Batch-Id") set.set("Nats-Batch-Sequence", "1");
			scene.as[role].publish(subject, "{}", { headers: set });
		}
		await scene.barrier(role);
		expect(await count(), subject).toBeGreaterThanOrEqual(stored);
	}
	expect(await scene.settings()).toBe(before);
	const routes = await manager.streams.info(`KV_${bucket.routes}`);
	expect(routes.state.messages).toBe(0);
});

async function messagesAt(subject: string): Promise<number> {
	const name = await manager.streams.find(subject);
	return (await manager.streams.info(name)).state.messages;
}

test("no role but archive imports a subject with which one makes or changes a stream or a consumer", () => {
	const verbs =
		/^\$JS\.API\.(STREAM\.(CREATE|UPDATE|DELETE|RESTORE|SNAPSHOT)|CONSUMER\.(CREATE|DURABLE|DELETE|PAUSE))|>$/;
	for (const role of natsRoles.filter((one) => one !== "archive"))
		expect(
			natsPermissions[role].publish.allow.filter(
				(subject) => subject.startsWith("$JS.API") && verbs.test(subject),
			),
			role,
		).toEqual(
			// Direct gets name the key in the subject.
			natsPermissions[role].publish.allow.filter((subject) =>
				/^\$JS\.API\.DIRECT\.GET\..*>$/.test(subject),
			),
		);
});

function inspection(name: string): string {
	return `$JS.API.STREAM.INFO.KV_${name}`;
}
