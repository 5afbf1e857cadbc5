import { KeyObject, type webcrypto } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

/** A certificate and its private key, as PEM text and as files. */
export interface KeyPair {
	cert: string;
	key: string;
	certFile: string;
	keyFile: string;
}

export type PkiName = keyof typeof certificates | keyof typeof authorities;

/** All keys of one local cluster. */
export type Pki = Record<PkiName, KeyPair> & {
	/** Signs and verifies ServiceAccount tokens. */
	serviceAccount: { keyFile: string; publicKeyFile: string };
};

/** Etcd has its own authority, so that a client certificate of the cluster gives no access to its storage. */
const authorities = {
	ca: "CN=tidemill-local",
	etcdCA: "CN=tidemill-local-etcd",
} as const;

const loopback = ["127.0.0.1", "::1", "localhost"];

interface Subject {
	issuer: keyof typeof authorities;
	name: string;
	/** Host names and addresses of a server; absent for a client. */
	hosts?: string[];
}

const certificates = {
	apiserver: {
		issuer: "ca",
		name: "CN=kube-apiserver",
		hosts: [
			...loopback,
			"kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local",
		],
	},
	/** The person who runs `make up`. */
	admin: { issuer: "ca", name: "CN=tidemill:admin,O=system:masters" },
	controllerManager: {
		issuer: "ca",
		name: "CN=system:kube-controller-manager",
	},
	operator: { issuer: "ca", name: "CN=tidemill:operator" },
	/** The process node when it binds Pods, which a node's own user may not do. */
	scheduler: { issuer: "ca", name: "CN=system:kube-scheduler" },
	/** The process node as a client of the apiserver. The Node authorizer requires these names. */
	node: { issuer: "ca", name: "CN=system:node:tidemill-local,O=system:nodes" },
	/** The process node as a server of logs. */
	nodeServing: {
		issuer: "ca",
		name: "CN=system:node:tidemill-local,O=system:nodes",
		hosts: loopback,
	},
	/** The apiserver as a client of the process node. */
	kubeletClient: { issuer: "ca", name: "CN=kube-apiserver-kubelet-client" },
	etcd: { issuer: "etcdCA", name: "CN=etcd", hosts: loopback },
	etcdClient: { issuer: "etcdCA", name: "CN=kube-apiserver-etcd-client" },
} as const satisfies Record<string, Subject>;

const dayMs = 86_400_000;
const authorityDays = 3650;
const certificateDays = 365;
/** The first start within a certificate's last days renews it. */
const renewalDays = 60;

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Reads the keys of a local cluster. Issues those that are missing or about to expire. Only the owner can read the files. */
export async function ensurePki(
	directory: string,
	nowMs: number = Date.now(),
): Promise<Pki> {
	await mkdir(directory, { recursive: true, mode: 0o700 });
	const pairs: Record<string, KeyPair> = {};
	for (const [name, subject] of Object.entries(authorities))
		pairs[name] = await ensurePair(directory, name, nowMs, undefined, (keys) =>
			X509CertificateGenerator.createSelfSigned({
				name: subject,
				keys,
				signingAlgorithm: algorithm,
				...validity(nowMs, authorityDays),
				extensions: [
					new BasicConstraintsExtension(true, undefined, true),
					new KeyUsagesExtension(
						KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign,
						true,
					),
				],
			}),
		);
	for (const [name, subject] of Object.entries<Subject>(certificates)) {
		const issuer = pairs[subject.issuer]!;
		pairs[name] = await ensurePair(
			directory,
			name,
			nowMs,
			issuer,
			async (keys) =>
				X509CertificateGenerator.create({
					subject: subject.name,
					issuer: new X509Certificate(issuer.cert).subject,
					publicKey: keys.publicKey,
					signingKey: await importKey(issuer.key),
					signingAlgorithm: algorithm,
					...validity(nowMs, certificateDays),
					extensions: await extensions(subject, keys),
				}),
		);
	}
	return {
		...(pairs as Record<PkiName, KeyPair>),
		serviceAccount: await ensureServiceAccountKey(directory),
	};
}

async function extensions(
	subject: Subject,
	keys: webcrypto.CryptoKeyPair,
): Promise<Extension[]> {
	const hosts = subject.hosts ?? [];
	return [
		new BasicConstraintsExtension(false, undefined, true),
		new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
		new ExtendedKeyUsageExtension(
			// Etcd connects to itself, so a server's certificate also serves clients.
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

async function ensurePair(
	directory: string,
	name: string,
	nowMs: number,
	issuer: KeyPair | undefined,
	issue: (keys: webcrypto.CryptoKeyPair) => Promise<X509Certificate>,
): Promise<KeyPair> {
	const certFile = join(directory, `${name}.crt`);
	const keyFile = join(directory, `${name}.key`);
	const existing = await readPair(certFile, keyFile);
	if (existing && (await isUsable(existing.cert, issuer, nowMs)))
		return { ...existing, certFile, keyFile };
	const keys = await generateKeys();
	const key = pem(keys.privateKey);
	const cert = `${(await issue(keys)).toString("pem")}\n`;
	await writeFile(keyFile, key, { mode: 0o600 });
	await writeFile(certFile, cert, { mode: 0o600 });
	return { cert, key, certFile, keyFile };
}

/** Whether it is signed by this issuer (which may be new) and not about to expire. */
async function isUsable(
	pemText: string,
	issuer: KeyPair | undefined,
	nowMs: number,
): Promise<boolean> {
	const certificate = new X509Certificate(pemText);
	const daysLeft = (certificate.notAfter.getTime() - nowMs) / dayMs;
	if (daysLeft < renewalDays) return false;
	return (
		issuer === undefined ||
		certificate.verify({ publicKey: new X509Certificate(issuer.cert) })
	);
}

async function ensureServiceAccountKey(
	directory: string,
): Promise<Pki["serviceAccount"]> {
	const keyFile = join(directory, "service-account.key");
	const publicKeyFile = join(directory, "service-account.pub");
	if (!(await readPair(publicKeyFile, keyFile))) {
		const keys = await generateKeys();
		await writeFile(keyFile, pem(keys.privateKey), { mode: 0o600 });
		await writeFile(publicKeyFile, pem(keys.publicKey), { mode: 0o600 });
	}
	return { keyFile, publicKeyFile };
}

async function readPair(
	certFile: string,
	keyFile: string,
): Promise<{ cert: string; key: string } | undefined> {
	try {
		const [cert, key] = await Promise.all(
			[certFile, keyFile].map((file) => readFile(file, "utf8")),
		);
		return cert && key ? { cert, key } : undefined;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}

function validity(nowMs: number, days: number) {
	// An hour back, because the clocks of a machine and its virtual machines differ.
	return {
		notBefore: new Date(nowMs - 3_600_000),
		notAfter: new Date(nowMs + days * dayMs),
	};
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
	return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

function importKey(pemText: string): Promise<webcrypto.CryptoKey> {
	const der = Buffer.from(pemText.replace(/-----[^-]+-----|\s/g, ""), "base64");
	return crypto.subtle.importKey("pkcs8", der, algorithm, true, ["sign"]);
}

function pem(key: webcrypto.CryptoKey): string {
	const type = key.type === "private" ? "pkcs8" : "spki";
	return KeyObject.from(key).export({ type, format: "pem" }) as string;
}
