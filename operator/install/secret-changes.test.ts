import { X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { natsUsers } from "./nats-users.ts";
import {
	type SecretChange,
	type SecretData,
	secretChanges,
	type WantedSecrets,
} from "./secret-changes.ts";

const dayMs = 86_400_000;
const nowMs = Date.parse("2026-11-23T00:00:00Z");
const wanted: WantedSecrets = {
	natsPasswords: "passwords",
	natsTls: "tls",
	natsHosts: ["nats", "*.nats-headless"],
	sealKey: "seal",
	consoleKey: "console",
	s3Keys: undefined,
};

function after(
	changes: SecretChange[],
	existing: ReadonlyMap<string, SecretData> = new Map(),
) {
	const result = new Map(existing);
	for (const { name, data } of changes)
		result.set(name, { ...result.get(name), ...data });
	return result;
}

const first = after(await secretChanges(wanted, new Map(), nowMs));

test("an empty namespace gets every Secret that is asked for, and no other", () => {
	expect([...first.keys()].sort()).toEqual([
		"console",
		"passwords",
		"seal",
		"tls",
		"tls-authority",
	]);
	expect(Object.keys(first.get("passwords")!).sort()).toEqual(
		natsUsers.toSorted(),
	);
	for (const name of ["seal", "console"])
		expect(first.get(name)!["seal-key"]!.length).toBeGreaterThanOrEqual(32);
	const passwords = Object.values(first.get("passwords")!);
	expect(new Set(passwords).size).toBe(passwords.length);
});

test("NATS's certificate names its hosts and comes from the authority that clients trust", () => {
	const { "tls.crt": cert, "ca.crt": ca } = first.get("tls")!;
	const server = new X509Certificate(cert!);
	expect(server.subjectAltName).toBe("DNS:nats, DNS:*.nats-headless");
	expect(server.verify(new X509Certificate(ca!).publicKey)).toBe(true);
	expect(ca).not.toContain("PRIVATE KEY");
});

test("a complete installation is left alone", async () => {
	expect(await secretChanges(wanted, first, nowMs + 100 * dayMs)).toEqual([]);
});

test("a later version's new user gets a password, and the others keep theirs", async () => {
	const { api: _, ...others } = first.get("passwords")!;
	const existing = new Map(first).set("passwords", others);
	const changes = await secretChanges(wanted, existing, nowMs);
	expect(changes).toEqual([
		{
			action: "update",
			name: "passwords",
			type: "Opaque",
			data: { api: expect.any(String) },
		},
	]);
});

test.each([
	["is near its end", wanted, 4.1 * 365],
	["misses a host", { ...wanted, natsHosts: ["nats", "other"] }, 0],
])(
	"a certificate that %s is issued anew by the same authority",
	async (_, now, days) => {
		const changes = await secretChanges(now, first, nowMs + days * dayMs);
		expect(changes.map(({ action, name }) => [action, name])).toEqual([
			["update", "tls"],
		]);
		const [{ data }] = changes as [SecretChange];
		expect(data["ca.crt"]).toBe(first.get("tls")!["ca.crt"]);
	},
);

test("clients trust a new authority beside the former one", async () => {
	const changes = await secretChanges(wanted, first, nowMs + 5.1 * 365 * dayMs);
	const later = after(changes, first);
	const authority = later.get("tls-authority")!["tls.crt"]!;
	expect(authority).not.toBe(first.get("tls-authority")!["tls.crt"]);
	expect(later.get("tls")!["ca.crt"]).toBe(
		authority + first.get("tls-authority")!["tls.crt"],
	);
});
