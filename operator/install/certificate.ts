import { KeyObject, type webcrypto } from "node:crypto";
// reflect-metadata: @peculiar/x509 needs it loaded first.
import "reflect-metadata";
// @peculiar/x509: issues certificates, which Node's own crypto can't.
import {
	BasicConstraintsExtension,
	ExtendedKeyUsage,
	ExtendedKeyUsageExtension,
	type Extension,
	KeyUsageFlags,
	KeyUsagesExtension,
	SubjectAlternativeNameExtension,
	SubjectKeyIdentifierExtension,
	X509Certificate,
	X509CertificateGenerator,
} from "@peculiar/x509";

/** A certificate and its private key, as PEM text. */
export interface KeyPair {
	cert: string;
	key: string;
}

/** Whom a certificate names. */
export interface CertificateSubject {
	name: string;
	/** Host names and addresses of a server; absent for a client. */
	hosts?: readonly string[];
}

const dayMs = 86_400_000;
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** An authority that signs certificates for as many days. */
export function issueAuthority(
	name: string,
	nowMs: number,
	days: number,
): Promise<KeyPair> {
	return issue((keys) =>
		X509CertificateGenerator.createSelfSigned({
			name,
			keys,
			signingAlgorithm: algorithm,
			...validity(nowMs, days),
			extensions: [
				new BasicConstraintsExtension(true, undefined, true),
				new KeyUsagesExtension(
					KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign,
					true,
				),
			],
		}),
	);
}

/** A certificate for this subject, signed by the authority. */
export function issueCertificate(
	subject: CertificateSubject,
	authority: KeyPair,
	nowMs: number,
	days: number,
): Promise<KeyPair> {
	return issue(async (keys) =>
		X509CertificateGenerator.create({
			subject: subject.name,
			issuer: new X509Certificate(authority.cert).subject,
			publicKey: keys.publicKey,
			signingKey: await importKey(authority.key),
			signingAlgorithm: algorithm,
			...validity(nowMs, days),
			extensions: await extensions(subject, keys),
		}),
	);
}

async function issue(
	sign: (keys: webcrypto.CryptoKeyPair) => Promise<X509Certificate>,
): Promise<KeyPair> {
	const keys = await crypto.subtle.generateKey(algorithm, true, [
		"sign",
		"verify",
	]);
	const key = KeyObject.from(keys.privateKey).export({
		type: "pkcs8",
		format: "pem",
	}) as string;
	return { cert: `${(await sign(keys)).toString("pem")}\n`, key };
}

async function extensions(
	{ hosts = [] }: CertificateSubject,
	keys: webcrypto.CryptoKeyPair,
): Promise<Extension[]> {
	return [
		new BasicConstraintsExtension(false, undefined, true),
		new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
		new ExtendedKeyUsageExtension(
			// Servers of one kind connect to each other, so a server's certificate also serves clients.
			hosts.length > 0
				? [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]
				: [ExtendedKeyUsage.clientAuth],
		),
		await SubjectKeyIdentifierExtension.create(keys.publicKey),
		...(hosts.length > 0
			? [
					new SubjectAlternativeNameExtension(
						hosts.map((value) => ({
							type: /^[\d.]+$|:/.test(value) ? "ip" : "dns",
							value,
						})),
					),
				]
			: []),
	];
}

function validity(nowMs: number, days: number) {
	// An hour back, because the clocks of two machines differ.
	return {
		notBefore: new Date(nowMs - 3_600_000),
		notAfter: new Date(nowMs + days * dayMs),
	};
}

function importKey(pemText: string): Promise<webcrypto.CryptoKey> {
	const der = Buffer.from(pemText.replace(/-----[^-]+-----|\s/g, ""), "base64");
	return crypto.subtle.importKey("pkcs8", der, algorithm, true, ["sign"]);
}
