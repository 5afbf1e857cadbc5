// In make test: test/data-plane/postgres-load.laptop.test.ts
import dns from "node:dns";
import { writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import {
	issueAuthority,
	issueCertificate,
} from "../../operator/install/certificate.ts";
import { fileEnv } from "../../packages/warehouses/postgres/input.ts";
import {
	authenticated,
	cleartext,
	gss,
	md5,
	OtherPostgres,
	ready,
	type Step,
	scram,
	scramContinue,
	scramFinal,
} from "../support/doubles/other-postgres.ts";
import { boundTo } from "../support/fixtures/data-plane/bound-input.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* A server that may be anybody's gets neither the password nor what lets it be guessed. */

afterEach(() => void vi.unstubAllEnvs());

const password = "secret of the loader";
const proper = scramContinue("s=c2FsdA==,i=4096");

async function asked(
	steps: Step[],
	{
		sslMode = "disable",
		by,
		secret,
		spec,
		ca,
	}: {
		sslMode?: string;
		by?: "authorities";
		/** Other values of the Secret, or of the Destination. */
		secret?: Record<string, string>;
		spec?: object;
		/** The Secret of the authorities, and whether that of the user names it. */
		ca?: { isBound: boolean };
	} = {},
) {
	const directory = await temporaryDirectory("other-postgres");
	const authority = await issueAuthority("CN=ours", Date.now(), 30);
	const pair = await issueCertificate(
		{ name: "CN=postgres", hosts: ["localhost"] },
		authority,
		Date.now(),
		30,
	);
	const env: Record<string, string> = {};
	for (const [name, content] of Object.entries({
		username: "loader",
		password,
		...(by && { authorities: authority.cert }),
		...secret,
	})) {
		const path = join(directory, name);
		await writeFile(path, content);
		env[fileEnv[name as keyof typeof fileEnv]] = path;
	}
	const other = await OtherPostgres.start(
		steps,
		sslMode === "disable" ? undefined : pair,
	);
	onTestFinished(() => other.close());
	const { result, log } = await checkDestination(
		{
			type: "Postgres",
			host: "localhost",
			port: other.port,
			database: "shop",
			schema: "public",
			sslMode,
			isLocal: true,
			...(ca && {
				ca: "mine",
				bound: boundTo(
					`postgres+disable://localhost:${other.port}`,
					...(ca.isBound ? [`postgres://localhost:${other.port}?ca=mine`] : []),
				),
			}),
			...spec,
		},
		env,
	);
	expect(JSON.stringify(result) + log).not.toContain(password);
	return { other, error: (result as { error?: object }).error };
}

const tooFew = (rest: string): Step[] => [scram, scramContinue(rest)];

test.each<[string, Step[], string]>([
	["asks for it in clear text", [cleartext], "disable"],
	["asks for its MD5 digest", [md5], "disable"],
	["asks for it in clear text, encrypted", [cleartext], "require"],
	["asks for its MD5 digest, encrypted", [md5], "require"],
	["asks for it in clear text after SCRAM", [scram, cleartext], "disable"],
	["asks for its MD5 digest after SCRAM", [scram, md5], "disable"],
	["asks for SCRAM of one iteration", tooFew("s=c2FsdA==,i=1"), "disable"],
	["has two numbers", tooFew("s=c2FsdA==,i=4096,i=1"), "disable"],
	["has two salts", tooFew("s=YQ==,s=c2FsdA==,i=4096"), "disable"],
	["ends SCRAM before the proof", [scram, authenticated], "disable"],
	["ends SCRAM unsigned", [scram, proper, authenticated], "disable"],
	["leaves out AuthenticationOk", [scram, proper, ready], "disable"],
	["signs at random", [scram, proper, scramFinal("AAAA")], "disable"],
])("a server that %s is refused", async (_, steps, sslMode) => {
	const { other, error } = await asked(steps, { sslMode });
	expect(error).toMatchObject({ code: "ServerUnverified", retryable: false });
	expect(other.text).not.toContain(password);
	expect(other.text).not.toContain("md5");
	expect(other.text).not.toContain("SHOW");
	// The proof of SCRAM, by which a password could be guessed.
	if (!steps.includes(proper)) expect(other.text).not.toContain(",p=");
});

test("a server that asks for what the client can't, such as GSSAPI, gets nothing", async () => {
	const { other, error } = await asked([gss]);
	expect(error).toMatchObject({ code: "PostgresNotSpoken" });
	expect(other.text).not.toContain(password);
});

test.each([
	["verify-full", undefined, false],
	["verify-ca", undefined, false],
	["verify-full", "authorities", true],
	["verify-ca", "authorities", true],
	["require", "authorities", true],
	["require", undefined, false],
] as const)(
	"with %s and %s the password goes in clear text: %s",
	async (sslMode, by, isSent) => {
		const { other } = await asked([cleartext], { sslMode, ...(by && { by }) });
		expect(other.text.includes(`${password}\0`)).toBe(isSent);
	},
);

const lines = "\r\nset victim 0 0 1\r\nx\r\n";
test.each([
	["the username", { secret: { username: `a${lines}` } }, "CredentialsRefused"],
	["the password", { secret: { password: `a${lines}` } }, "CredentialsRefused"],
	[
		"the database",
		{ secret: { dbname: `a${lines}` }, spec: { database: undefined } },
		"DatabaseMissing",
	],
	["spec's database", { spec: { database: `a${lines}` } }, "DatabaseMissing"],
	[
		"spec's database, by a NUL",
		{ spec: { database: "a\0user\0b" } },
		"DatabaseMissing",
	],
	[
		"the host",
		{ secret: { host: `localhost${lines}` }, spec: { host: undefined } },
		"CredentialsRefused",
	],
	[
		"the port",
		{ secret: { port: `1${lines}` }, spec: { port: undefined } },
		"CredentialsRefused",
	],
])(
	"a control character in %s is refused before anything is sent",
	async (_, change, code) => {
		const { other, error } = await asked([scram], change);
		expect(error).toMatchObject({
			code,
			message: expect.stringMatching(/has a control character/),
		});
		expect(JSON.stringify(error)).not.toContain("victim");
		expect(other.received).toEqual([]);
	},
);

test.each([
	[{ isBound: true }, true],
	[{ isBound: false }, false],
])(
	"by authorities that the Secret names, as in %j, the password goes in clear text: %s",
	async (ca, isSent) => {
		const { other } = await asked([cleartext], {
			...{ sslMode: "verify-full", by: "authorities", ca },
		});
		expect(other.text.includes(`${password}\0`)).toBe(isSent);
	},
);

test.each([
	["localhost", 1],
	["127.0.0.1", 1],
	["db.example.com", 0],
])(
	"in the cluster's own networks, %s leads to %i connections",
	async (host, connections) => {
		const { lookup } = dns;
		onTestFinished(() => {
			Object.assign(dns, { lookup });
			syncBuiltinESMExports();
		});
		const answer = [{ address: "127.0.0.1", family: 4 }];
		Object.assign(dns, {
			lookup: (_: string, __: object, done: (e: null, a: object) => void) =>
				done(null, answer),
		});
		syncBuiltinESMExports();
		const { other, error } = await asked([cleartext], {
			spec: { host, clusterNetworks: ["127.0.0.0/8"] },
		});
		expect(other.received).toHaveLength(connections);
		expect(error).toMatchObject({
			code: connections ? "ServerUnverified" : "HostNotAllowed",
		});
	},
);
