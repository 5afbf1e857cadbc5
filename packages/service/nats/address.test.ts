import type { ConnectionOptions, PeerCertificate } from "node:tls";
import { expect, test } from "vitest";
import { createLog } from "../log.ts";
import { SettingError, Settings } from "../settings.ts";
import { readNatsAddress } from "./address.ts";

const log = createLog("test");
const read = (env: Record<string, string>) =>
	readNatsAddress(new Settings(env), log);

test("nats:// asks for no TLS, and the first server's user is everyone's", () => {
	expect(
		read({ NATS_URL: "nats://u:p%40ss@a:4222, nats://u:p%40ss@[::1]:4223" }),
	).toEqual({ servers: ["a:4222", "[::1]:4223"], user: "u", pass: "p@ss" });
});

test("a certificate counts only if it is for a server that NATS_URL names", () => {
	const { tls } = read({ NATS_URL: "tls://nats.example,tls://10.0.0.1" });
	const { checkServerIdentity } = tls as {
		checkServerIdentity: NonNullable<ConnectionOptions["checkServerIdentity"]>;
	};
	const check = (subjectaltname: string) =>
		checkServerIdentity("localhost", {
			subject: {},
			subjectaltname,
		} as unknown as PeerCertificate)?.message;
	expect(check("DNS:nats.example")).toBeUndefined();
	expect(check("IP Address:10.0.0.1")).toBeUndefined();
	// The client looks for "localhost" if the URL has an address, and for a discovered server's own name.
	expect(check("DNS:localhost")).toBe(
		"the server's certificate is for none of the servers in NATS_URL: nats.example, 10.0.0.1",
	);
});

test.each([
	["", "NATS_URL is not set"],
	["nats://u:s3cret@a,tls://u:s3cret@b", "the password could travel in clear"],
	["tls://u:s3cret@a,nats://u:s3cret@b", "Begin each of them with tls://"],
	["http://u:s3cret@a", "not a URL of NATS"],
	["u:s3cret@a:4222", "not a URL of NATS"],
	["nats://u:s3cret@a:port", "not a URL of NATS"],
	["nats://u:s3cret@a,", "not a URL of NATS"],
	["nats:a", "not a URL of NATS"],
])("NATS_URL=%s is refused, and its password isn't shown", (url, fault) => {
	const refused = () => read({ NATS_URL: url });
	expect(refused).toThrow(SettingError);
	expect(refused).toThrow(fault);
	expect(refused).not.toThrow("s3cret");
});

test.each(["NATS_CA_FILE", "NATS_CERT_FILE", "NATS_KEY_FILE"])(
	"%s without tls:// is refused",
	(name) => {
		expect(() => read({ NATS_URL: "nats://a", [name]: "/file" })).toThrow(
			`${name} is "/file", but NATS_URL asks for no TLS.`,
		);
	},
);

test("a client's certificate needs its key, and a key its certificate", () => {
	const log = createLog("test");
	const read = (name: string) => () =>
		readNatsAddress(
			new Settings({ NATS_URL: "tls://a", [name]: "/file" }),
			log,
		);
	expect(read("NATS_CERT_FILE")).toThrow("NATS_KEY_FILE is not set");
	expect(read("NATS_KEY_FILE")).toThrow("NATS_CERT_FILE is not set");
});
