import { randomBytes, X509Certificate } from "node:crypto";
import {
	issueAuthority,
	issueCertificate,
	type KeyPair,
} from "./certificate.ts";
import { natsUsers } from "./nats-users.ts";
import { isUsable } from "./usable-certificate.ts";

/** Names of the Secrets that an installation needs from us; undefined where it brings its own. */
export interface WantedSecrets {
	natsPasswords?: string | undefined;
	natsTls?: string | undefined;
	/** The names under which clients reach NATS. */
	natsHosts: readonly string[];
	sealKey?: string | undefined;
	/** Seals sessions of the console. */
	consoleKey?: string | undefined;
	s3Keys?: string | undefined;
}

/** The text of each key of a Secret. */
export type SecretData = Record<string, string>;

/** What is to be written: a new Secret, or some keys of one that exists. */
export interface SecretChange {
	action: "create" | "update";
	name: string;
	type: "Opaque" | "kubernetes.io/tls";
	data: SecretData;
}

export const authorityDays = 3650;
export const certificateDays = 1825;
const renewalDays = 365;

/** Where the authority that signs NATS's certificate is: only setup reads it. */
export function authorityName(natsTls: string): string {
	return `${natsTls}-authority`;
}

/** The names of all Secrets that setup reads. */
export function secretNames(wanted: WantedSecrets): string[] {
	const { natsPasswords, natsTls, sealKey, consoleKey, s3Keys } = wanted;
	const authority = natsTls && authorityName(natsTls);
	return [
		natsPasswords,
		authority,
		natsTls,
		sealKey,
		consoleKey,
		s3Keys,
	].filter((name) => name !== undefined);
}

/**
 * What is missing of the Secrets. A value that exists is never replaced, except a certificate that is near its end, misses a
 * name or isn't of its authority.
 */
export async function secretChanges(
	wanted: WantedSecrets,
	existing: ReadonlyMap<string, SecretData>,
	nowMs: number,
): Promise<SecretChange[]> {
	const { natsPasswords, natsTls, natsHosts, sealKey, consoleKey, s3Keys } =
		wanted;
	return [
		complete(natsPasswords, existing, natsUsers),
		complete(sealKey, existing, ["seal-key"]),
		complete(consoleKey, existing, ["seal-key"]),
		complete(s3Keys, existing, ["accessKeyId", "secretAccessKey"]),
		...(natsTls ? await tlsChanges(natsTls, natsHosts, existing, nowMs) : []),
	].filter((change) => change !== undefined);
}

function complete(
	name: string | undefined,
	existing: ReadonlyMap<string, SecretData>,
	keys: readonly string[],
): SecretChange | undefined {
	if (name === undefined) return undefined;
	const found = existing.get(name);
	const missing = keys.filter((key) => !found?.[key]);
	if (missing.length === 0) return undefined;
	return {
		action: found ? "update" : "create",
		name,
		type: "Opaque",
		data: Object.fromEntries(missing.map((key) => [key, randomPassword()])),
	};
}

async function tlsChanges(
	name: string,
	hosts: readonly string[],
	existing: ReadonlyMap<string, SecretData>,
	nowMs: number,
): Promise<SecretChange[]> {
	const changes: SecretChange[] = [];
	const write = (secret: string, data: SecretData) =>
		changes.push({
			action: existing.has(secret) ? "update" : "create",
			name: secret,
			type: "kubernetes.io/tls",
			data,
		});
	const former = pairOf(existing.get(authorityName(name)));
	const isFormerUsable =
		former && isUsable(former.cert, undefined, nowMs, certificateDays);
	const authority = isFormerUsable
		? former
		: await issueAuthority("CN=tidemill-nats", nowMs, authorityDays);
	if (authority !== former) write(authorityName(name), tlsData(authority));
	const found = pairOf(existing.get(name));
	if (
		found &&
		namesAll(found.cert, hosts) &&
		isUsable(found.cert, authority, nowMs, renewalDays)
	)
		return changes;
	const server = await issueCertificate(
		{ name: "CN=nats", hosts },
		authority,
		nowMs,
		certificateDays,
	);
	// Until NATS has read its new certificate, it shows one of an authority that was trusted before.
	const before = certificatesIn(existing.get(name)?.["ca.crt"] ?? "").filter(
		(cert) => Date.parse(new X509Certificate(cert).validTo) > nowMs,
	);
	const trusted = new Set([authority.cert, ...before]);
	write(name, { ...tlsData(server), "ca.crt": [...trusted].join("") });
	return changes;
}

function pairOf(data: SecretData | undefined): KeyPair | undefined {
	const { "tls.crt": cert, "tls.key": key } = data ?? {};
	return cert && key ? { cert, key } : undefined;
}

/** Each certificate of a PEM text, as {@link issueCertificate} writes one. */
export function certificatesIn(pem: string): string[] {
	const found = pem.match(
		/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g,
	);
	return (found ?? []).map((cert) => `${cert}\n`);
}

function tlsData({ cert, key }: KeyPair): SecretData {
	return { "tls.crt": cert, "tls.key": key };
}

function namesAll(cert: string, hosts: readonly string[]): boolean {
	const { subjectAltName = "" } = new X509Certificate(cert);
	const named = new Set(subjectAltName.split(", "));
	return hosts.every((host) => named.has(`DNS:${host}`));
}

/** 192 random bits as text that needs no quotes in URLs, settings and configurations. */
export function randomPassword(): string {
	return randomBytes(24).toString("hex");
}
