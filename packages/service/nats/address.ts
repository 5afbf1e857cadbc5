import {
	type ConnectionOptions,
	checkServerIdentity,
	createSecureContext,
	type PeerCertificate,
} from "node:tls";
import type {
	NodeConnectionOptions,
	TlsOptions,
} from "@nats-io/transport-node";
import type { TlsServer } from "../certificate-metrics.ts";
import type { Logger } from "../log.ts";
import {
	authoritiesIn,
	readAuthorities,
	SecretFiles,
} from "../secret-files.ts";
import { SettingError, type Settings } from "../settings.ts";

/** Where NATS is, as whom to sign in, and how to encrypt: options of the client's `connect`. */
type NatsAddress = Pick<NodeConnectionOptions, "tls"> & {
	servers: string[];
	user?: string;
	pass?: string;
};

/**
 * Reads `NATS_URL` (`nats://user:password@host:port`, or `tls://…`; several separated by commas) and the TLS files. With
 * `tls://` the client sends nothing to a server without TLS. Throws {@link SettingError}, without the password.
 */
export function readNatsAddress(settings: Settings, log: Logger): NatsAddress {
	const urls = settings
		.text("NATS_URL")
		.split(",")
		.map((text) => readUrl(text.trim()));
	const { username, password } = urls[0]!;
	const usesTls = urls.some(({ protocol }) => protocol === "tls:");
	if (usesTls && urls.some(({ protocol }) => protocol !== "tls:"))
		throw new SettingError(
			"NATS_URL has servers with nats:// and servers with tls://, so the password could travel in clear text. Begin each of them with tls://.",
		);
	const files = readTlsFiles(settings, usesTls, log);
	// The client passes on Node's options, beside those that its type has. It reads them for each connection.
	const tls: TlsOptions & Pick<ConnectionOptions, "checkServerIdentity"> = {
		get ca() {
			return files?.value.ca;
		},
		get cert() {
			return files?.value.cert;
		},
		get key() {
			return files?.value.key;
		},
		checkServerIdentity: checkIdentity(
			urls.map(({ hostname }) => hostname.replace(/^\[|\]$/g, "")),
		),
	} as TlsOptions;
	return {
		servers: urls.map(({ host }) => host),
		...(username && {
			user: decodeURIComponent(username),
			pass: decodeURIComponent(password),
		}),
		...(usesTls && { tls }),
	};
}

/** The servers of `NATS_URL` that use TLS, to look at their certificates. Throws {@link SettingError}. */
export function natsServers(settings: Settings, log: Logger): TlsServer[] {
	const authorities = readAuthorities(settings, "NATS_CA_FILE", log);
	return settings
		.text("NATS_URL")
		.split(",")
		.map((text) => readUrl(text.trim()))
		.filter(({ protocol }) => protocol === "tls:")
		.map(({ hostname, port }) => ({
			host: hostname.replace(/^\[|\]$/g, ""),
			port: Number(port || 4222),
			greets: true,
			get authorities() {
				return authorities?.value;
			},
		}));
}

function readUrl(text: string): URL {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	if (url?.host && ["nats:", "tls:"].includes(url.protocol)) return url;
	// Not quoted, because it may hold a password.
	throw new SettingError(
		"NATS_URL has a server that is not a URL of NATS. It must look like nats://user:password@host:port, or tls://user:password@host:port for TLS.",
	);
}

/** What the TLS files hold. */
interface TlsTexts {
	ca?: string;
	cert?: string;
	key?: string;
}

/** Undefined if there are none. */
function readTlsFiles(
	settings: Settings,
	usesTls: boolean,
	log: Logger,
): SecretFiles<TlsTexts> | undefined {
	const caFile = settings.optional("NATS_CA_FILE");
	const certFile = settings.optional("NATS_CERT_FILE");
	const keyFile = settings.optional("NATS_KEY_FILE");
	const named = Object.entries({
		NATS_CA_FILE: caFile,
		NATS_CERT_FILE: certFile,
		NATS_KEY_FILE: keyFile,
	}).filter(([, file]) => file !== undefined) as [string, string][];
	const [unused] = named;
	if (!unused) return undefined;
	if (!usesTls)
		throw new SettingError(
			`${unused[0]} is "${unused[1]}", but NATS_URL asks for no TLS. Begin each server with tls://.`,
		);
	if ((certFile === undefined) !== (keyFile === undefined))
		throw new SettingError(
			`${certFile ? "NATS_KEY_FILE" : "NATS_CERT_FILE"} is not set. A client's certificate needs both NATS_CERT_FILE and NATS_KEY_FILE.`,
		);
	return new SecretFiles({
		setting: named.map(([name]) => name).join(", "),
		files: () => named.map(([, file]) => file),
		parse: (read) => ({
			...(caFile && { ca: authoritiesIn(caFile, "NATS_CA_FILE", read) }),
			...(certFile && keyFile && keyPairIn(certFile, keyFile, read)),
		}),
		log,
	});
}

function keyPairIn(
	certFile: string,
	keyFile: string,
	read: (file: string) => string,
): { cert: string; key: string } {
	try {
		const pair = { cert: read(certFile), key: read(keyFile) };
		createSecureContext(pair);
		return pair;
	} catch (error) {
		throw new SettingError(
			`NATS_CERT_FILE is "${certFile}" and NATS_KEY_FILE is "${keyFile}", which don't work (${(error as Error).message}). They must name PEM files with a client's certificate and its private key.`,
		);
	}
}

/**
 * The certificate must be of a server that NATS_URL names. The client alone would look for `localhost` in the certificate of an
 * IP address, and for any name that a server tells it of in the clear (`connect_urls` of INFO).
 */
function checkIdentity(names: string[]) {
	return (_: string, certificate: PeerCertificate): Error | undefined => {
		const isNamed = names.some(
			(known) => checkServerIdentity(known, certificate) === undefined,
		);
		return isNamed
			? undefined
			: new Error(
					`the server's certificate is for none of the servers in NATS_URL: ${names.join(", ")}`,
				);
	};
}
