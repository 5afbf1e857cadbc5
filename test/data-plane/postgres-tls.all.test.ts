// On a laptop nothing proves this: who is whom by a certificate is a matter of few deployments, and of one module.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import {
	issueAuthority,
	issueCertificate,
} from "../../operator/install/certificate.ts";
import { fileEnv } from "../../packages/warehouses/postgres/input.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import { postgresFixture } from "../support/fixtures/data-plane/postgres-fixture.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* A real server with a certificate of an authority of its own, for one name. */

let server: PostgresServer;
let ownCA: string;
let otherCA: string;
beforeAll(async () => {
	const directory = await temporaryDirectory("postgres-tls");
	const fileOf = async (name: string, content: string) => {
		const path = join(directory, name);
		await writeFile(path, content, { mode: 0o600 });
		return path;
	};
	const ca = await issueAuthority("CN=ours", Date.now(), 30);
	const pair = await issueCertificate(
		{ name: "CN=postgres", hosts: ["localhost"] },
		ca,
		Date.now(),
		7,
	);
	[ownCA, otherCA] = await Promise.all([
		fileOf("ca.crt", ca.cert),
		issueAuthority("CN=another", Date.now(), 30).then(({ cert }) =>
			fileOf("other.crt", cert),
		),
	]);
	server = await startPostgres({
		tls: {
			certificate: await fileOf("tls.crt", pair.cert),
			key: await fileOf("tls.key", pair.key),
		},
	});
});
afterAll(() => server?.stop());
afterEach(() => void vi.unstubAllEnvs());

test.each([
	["verify-full", "localhost", "own", true],
	["verify-full", "127.0.0.1", "own", false],
	["verify-full", "localhost", "other", false],
	["verify-full", "localhost", "public", false],
	["verify-ca", "127.0.0.1", "own", true],
	["verify-ca", "127.0.0.1", "other", false],
	["require", "127.0.0.1", "public", true],
	["require", "127.0.0.1", "own", true],
	["require", "127.0.0.1", "other", false],
	["disable", "127.0.0.1", "public", true],
])(
	"%s with host %s and %s authorities",
	async (sslMode, host, of, isTrusted) => {
		const { destination, env } = await postgresFixture(server);
		const file = { own: ownCA, other: otherCA, public: undefined }[of];
		const { result, log } = await checkDestination(
			{ ...destination, sslMode, host },
			{ ...env, ...(file && { [fileEnv.authorities]: file }) },
		);
		expect(result, log).toMatchObject(
			isTrusted
				? {
						outcome: "Succeeded",
						...(sslMode !== "disable" && {
							warning: expect.stringMatching(/The certificate of .* ends on/),
						}),
					}
				: { outcome: "Failed", error: { code: "CertificateRefused" } },
		);
	},
);

test.each([
	["md5", "disable", "ServerUnverified"],
	["password", "disable", "ServerUnverified"],
	["password", "require", "ServerUnverified"],
	["scram-sha-256", "disable", undefined],
	["md5", "verify-full", undefined],
	["password", "verify-full", undefined],
])(
	"a server that asks by the method %s, with %s: %s",
	async (method, sslMode, code) => {
		const { destination, env, user, password, database } =
			await postgresFixture(server);
		if (method === "md5")
			await server.rows(
				`SET password_encryption = 'md5'; ALTER ROLE ${user} PASSWORD '${password}'`,
			);
		// A line before the others, which a superuser may write.
		const [[file]] = (await server.rows("SHOW hba_file")) as [[string]];
		await server.rows(
			`CREATE TEMP TABLE hba AS SELECT 0 AS n, 'host ${database} ${user} all ${method}' AS line
			UNION ALL SELECT 1, * FROM regexp_split_to_table(pg_read_file('${file}'), E'\\n');
			COPY (SELECT line FROM hba ORDER BY n) TO '${file}'; SELECT pg_reload_conf()`,
		);
		const { result, log } = await checkDestination(
			{ ...destination, sslMode, host: "localhost" },
			{ ...env, ...(!code && { [fileEnv.authorities]: ownCA }) },
		);
		expect(result, log).toMatchObject(
			code ? { error: { code } } : { outcome: "Succeeded" },
		);
	},
);
