import { generateKeyPairSync } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type {
	CertificateSubject,
	KeyPair,
} from "../../operator/install/certificate.ts";
import { isUsable } from "../../operator/install/usable-certificate.ts";

/** A certificate and its private key, as PEM text and as files. */
export interface KeyPairFiles extends KeyPair {
	certFile: string;
	keyFile: string;
}

type PkiName = keyof typeof certificates | keyof typeof authorities;

/** All keys of one local cluster. */
export type Pki = Record<PkiName, KeyPairFiles> & {
	/** Signs and verifies ServiceAccount tokens. */
	serviceAccount: { keyFile: string; publicKeyFile: string };
};

/** Etcd has its own authority, so that a client certificate of the cluster gives no access to its storage. */
const authorities = {
	ca: "CN=tidemill-local",
	etcdCA: "CN=tidemill-local-etcd",
} as const;

const loopback = ["127.0.0.1", "::1", "localhost"];

export type ClusterSubject = CertificateSubject & {
	issuer: keyof typeof authorities;
};

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
} as const satisfies Record<string, ClusterSubject>;

const authorityDays = 3650;
const certificateDays = 365;
/** The first start within a certificate's last days renews it. */
const renewalDays = 60;

/**
 * Reads the keys of a local cluster. Issues those that are missing or about to expire. Only the owner can read the files.
 * `more` adds certificates, or replaces those of the same name.
 */
export async function ensurePki<More extends string = never>(
	directory: string,
	nowMs: number = Date.now(),
	more = {} as Record<More, ClusterSubject>,
): Promise<Pki & Record<More, KeyPairFiles>> {
	await mkdir(directory, { recursive: true, mode: 0o700 });
	const pairs: Record<string, KeyPairFiles> = {};
	for (const [name, subject] of Object.entries(authorities))
		pairs[name] = await ensurePair(
			directory,
			name,
			nowMs,
			undefined,
			async () =>
				(await issuing()).issueAuthority(subject, nowMs, authorityDays),
		);
	const subjects: Record<string, ClusterSubject> = { ...certificates, ...more };
	for (const [name, subject] of Object.entries(subjects)) {
		const issuer = pairs[subject.issuer]!;
		pairs[name] = await ensurePair(directory, name, nowMs, issuer, async () =>
			(await issuing()).issueCertificate(
				subject,
				issuer,
				nowMs,
				certificateDays,
			),
		);
	}
	return {
		...(pairs as Record<PkiName | More, KeyPairFiles>),
		serviceAccount: await ensureServiceAccountKey(directory),
	};
}

/** Later starts need it seldom. */
const issuing = () => import("../../operator/install/certificate.ts");

async function ensurePair(
	directory: string,
	name: string,
	nowMs: number,
	issuer: KeyPairFiles | undefined,
	issue: () => Promise<KeyPair>,
): Promise<KeyPairFiles> {
	const certFile = join(directory, `${name}.crt`);
	const keyFile = join(directory, `${name}.key`);
	const existing = await readPair(certFile, keyFile);
	if (existing && isUsable(existing.cert, issuer, nowMs, renewalDays))
		return { ...existing, certFile, keyFile };
	const { cert, key } = await issue();
	await writeFile(keyFile, key, { mode: 0o600 });
	await writeFile(certFile, cert, { mode: 0o600 });
	return { cert, key, certFile, keyFile };
}

async function ensureServiceAccountKey(
	directory: string,
): Promise<Pki["serviceAccount"]> {
	const keyFile = join(directory, "service-account.key");
	const publicKeyFile = join(directory, "service-account.pub");
	if (!(await readPair(publicKeyFile, keyFile))) {
		const { privateKey, publicKey } = generateKeyPairSync("ec", {
			namedCurve: "P-256",
			privateKeyEncoding: { type: "pkcs8", format: "pem" },
			publicKeyEncoding: { type: "spki", format: "pem" },
		});
		await writeFile(keyFile, privateKey, { mode: 0o600 });
		await writeFile(publicKeyFile, publicKey, { mode: 0o600 });
	}
	return { keyFile, publicKeyFile };
}

async function readPair(
	certFile: string,
	keyFile: string,
): Promise<KeyPair | undefined> {
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
