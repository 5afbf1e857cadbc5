import { readFileSync } from "node:fs";
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
import { SettingError, type Settings } from "../settings.ts";
import { readAuthorities } from "../trusted-authorities.ts";

/** Where NATS is, as whom to sign in, and how to encrypt: options of the client's `connect`. */
export type NatsAddress = Pick<
	NodeConnectionOptions,
	"servers" | "user" | "pass" | "tls"
>;

/**
 * Reads `NATS_URL` (`nats://user:password@host:port`, or `tls://…`; several separated by commas) and the TLS files. With
 * `tls://` the client sends nothing to a server without TLS. Throws {@link SettingError}, without the password.
 */
export function readNatsAddress(settings: Settings): NatsAddress {
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
	// The client passes on Node's options, beside those that its type has.
	const tls: TlsOptions & Pick<ConnectionOptions, "checkServerIdentity"> = {
		...readTlsFiles(settings, usesTls),
		checkServerIdentity: checkIdentity(
			urls.map(({ hostname }) => hostname.replace(/^\[|\]$/g, "")),
		),
	};
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
export function natsServers(settings: Settings) {
	const authorities = readAuthorities(settings, "NATS_CA_FILE");
	return settings
		.text("NATS_URL")
		.split(",")
		.map((text) => readUrl(text.trim()))
		.filter(({ protocol }) => protocol === "tls:")
		.map(({ hostname, port }) => ({
			host: hostname.replace(/^\[|\]$/g, ""),
			port: Number(port || 4222),
			greets: true,
			authorities,
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

/** The client reads the files for each connection, so renewed certificates need no restart. */
function readTlsFiles(settings: Settings, usesTls: boolean) {
	const caFile = settings.optional("NATS_CA_FILE");
	const certFile = settings.optional("NATS_CERT_FILE");
	const keyFile = settings.optional("NATS_KEY_FILE");
	const unused = Object.entries({
		NATS_CA_FILE: caFile,
		NATS_CERT_FILE: certFile,
		NATS_KEY_FILE: keyFile,
	}).find(([, file]) => file !== undefined);
	if (!usesTls && unused)
		throw new SettingError(
			`${unused[0]} is "${unused[1]}", but NATS_URL asks for no TLS. Begin each server with tls://.`,
		);
	readAuthorities(settings, "NATS_CA_FILE");
	if ((certFile === undefined) !== (keyFile === undefined))
		throw new SettingError(
			`${certFile ? "NATS_KEY_FILE" : "NATS_CERT_FILE"} is not set. A client's certificate needs both NATS_CERT_FILE and NATS_KEY_FILE.`,
		);
	if (certFile && keyFile) checkKeyPair(certFile, keyFile);
	return {
		...(caFile && { caFile }),
		...(certFile && { certFile }),
		...(keyFile && { keyFile }),
	};
}

function checkKeyPair(certFile: string, keyFile: string): void {
	try {
		createSecureContext({
			cert: readFileSync(certFile),
			key: readFileSync(keyFile),
		});
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
