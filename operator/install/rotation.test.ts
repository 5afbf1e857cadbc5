import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { natsRoles } from "./nats-users.ts";
import {
	type KeyChanges,
	nextStep,
	type SecretFacts,
	type SecretRotation,
} from "./rotation.ts";
import { type SecretData, secretChanges } from "./secret-changes.ts";

const startMs = Date.parse("2026-11-23T00:00:00Z");
const settleMs = 150_000;
const dayMs = 86_400_000;
const first = new Map(
	(
		await secretChanges(
			{
				natsPasswords: "passwords",
				natsTls: "tls",
				natsHosts: ["nats", "*.nats-headless"],
				sealKey: "seal",
				consoleKey: "console",
				s3Keys: "store",
			},
			new Map(),
			startMs,
		)
	).map(({ name, data }) => [name, data] as const),
);

/** Secrets as a cluster has them while a rotation goes on. */
class Rotating {
	readonly #rotation: SecretRotation;
	facts: SecretFacts;
	nowMs = startMs;
	readonly restarts: string[] = [];

	constructor(rotation: SecretRotation, name: string) {
		this.#rotation = rotation;
		this.facts = {
			name,
			data: first.get(name)!,
			...(first.has(`${name}-authority`) && {
				authority: first.get(`${name}-authority`)!,
			}),
		};
	}

	/** Carries out the next step, as a command does that begins now. */
	async step(isNow = false) {
		const options = { settleMs, isNow, store: "tidemill-s3" };
		const step = await nextStep(
			this.#rotation,
			this.facts,
			this.nowMs,
			options,
		);
		if (step.type === "write") {
			const changes = new Map(step.changes);
			const { name, data, authority } = this.facts;
			this.facts = {
				name,
				data: changed(data, changes.get(name)),
				authority:
					authority && changed(authority, changes.get(`${name}-authority`)),
				state: step.state,
			};
			if (step.restarts) this.restarts.push(step.restarts);
		}
		return step;
	}

	/** Carries out one step that writes, and lets everybody read it. */
	async writeAndSettle(isNow = false): Promise<SecretData> {
		expect(await this.step(isNow)).toMatchObject({ type: "write" });
		// A command that begins too early changes nothing.
		expect((await this.step(isNow)).type).toMatch(/wait|later/);
		this.nowMs += settleMs;
		return this.facts.data;
	}
}

function changed(data: SecretData, keys: KeyChanges = {}): SecretData {
	return Object.fromEntries(
		Object.entries({ ...data, ...keys }).filter(
			(entry): entry is [string, string] => entry[1] !== undefined,
		),
	);
}

test("at each moment one of a role's two passwords is one that all have known for a while", async () => {
	const rotating = new Rotating("nats-passwords", "passwords");
	const before = rotating.facts.data;
	const between = await rotating.writeAndSettle();
	for (const role of natsRoles) {
		expect(between[role]).toBe(before[role]);
		expect(between[`${role}-b`]).not.toBe(before[`${role}-b`]);
	}
	const after = await rotating.writeAndSettle();
	for (const role of natsRoles) {
		expect(after[role]).not.toBe(before[role]);
		expect(after[`${role}-b`]).toBe(between[`${role}-b`]);
	}
	expect(after.admin).not.toBe(before.admin);
	expect(await rotating.step()).toMatchObject({ type: "finish" });
});

test.each([
	["seal-key", "seal"],
	["console-key", "console"],
] as const)(
	"a new %s is known before it seals, and the former one opens until what it sealed is gone",
	async (rotation, secret) => {
		const rotating = new Rotating(rotation, secret);
		const { "seal-key": former } = rotating.facts.data;
		const { "seal-key-next": next, ...rest } = await rotating.writeAndSettle();
		expect(rest).toEqual({ "seal-key": former });
		const swapped = { "seal-key": next, "seal-key-former": former };
		expect(await rotating.writeAndSettle()).toEqual(swapped);
		expect(await rotating.step()).toMatchObject({ type: "later" });
		rotating.nowMs += 2 * dayMs;
		expect(await rotating.writeAndSettle()).toEqual({ "seal-key": next });
		expect(await rotating.step()).toMatchObject({ type: "finish" });
	},
);

test("a stolen seal key goes at once, when everybody has the new one", async () => {
	const rotating = new Rotating("seal-key", "seal");
	await rotating.writeAndSettle(true);
	const { "seal-key": next } = await rotating.writeAndSettle(true);
	expect(await rotating.writeAndSettle(true)).toEqual({ "seal-key": next });
});

test("clients trust NATS's certificate at each moment, whichever of two they and NATS have read", async () => {
	const rotating = new Rotating("nats-certificate", "tls");
	const states = [rotating.facts.data];
	for (let step = 0; step < 3; step++)
		states.push(await rotating.writeAndSettle());
	expect(await rotating.step()).toMatchObject({ type: "finish" });
	for (const [i, data] of states.entries())
		for (const other of states.slice(Math.max(0, i - 1), i + 2))
			expect(isTrusted(data["tls.crt"]!, other["ca.crt"]!)).toBe(true);
	const [before, , , after] = states;
	expect(isTrusted(before!["tls.crt"]!, after!["ca.crt"]!)).toBe(false);
	expect(after!["ca.crt"]).toBe(rotating.facts.authority!["tls.crt"]);
	expect(rotating.facts.authority).not.toHaveProperty("next.crt");
	expect(new X509Certificate(after!["tls.crt"]!).subjectAltName).toBe(
		"DNS:nats, DNS:*.nats-headless",
	);
});

test("an upgrade amid the rotation of the certificate changes nothing", async () => {
	const rotating = new Rotating("nats-certificate", "tls");
	for (let step = 0; step < 3; step++) {
		const { data, authority } = rotating.facts;
		const existing = new Map([
			["tls", data],
			["tls-authority", authority!],
		]);
		const wanted = {
			natsPasswords: undefined,
			natsTls: "tls",
			natsHosts: ["nats"],
			sealKey: undefined,
			consoleKey: undefined,
			s3Keys: undefined,
		};
		expect(await secretChanges(wanted, existing, rotating.nowMs)).toEqual([]);
		await rotating.writeAndSettle();
	}
});

test("the store starts again with its new keys", async () => {
	const rotating = new Rotating("store-keys", "store");
	const before = rotating.facts.data;
	expect(await rotating.step()).toMatchObject({ type: "write" });
	expect(rotating.restarts).toEqual([]);
	const after = await rotating.writeAndSettle();
	for (const key of ["accessKeyId", "secretAccessKey"])
		expect(after[key]).not.toBe(before[key]);
	expect(rotating.restarts).toEqual(["tidemill-s3"]);
	expect(await rotating.step()).toMatchObject({ type: "finish" });
});

function isTrusted(cert: string, ca: string): boolean {
	const authorities = ca.match(/-----BEGIN[^-]*-----[^-]*-----END[^-]*-----/g);
	return authorities!.some((pem) =>
		new X509Certificate(cert).verify(new X509Certificate(pem).publicKey),
	);
}
