// In make test: packages/warehouses/definition/secrets.test.ts
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fileEnv } from "../../packages/warehouses/clickhouse/definition.ts";
import { OtherClickHouse } from "../support/doubles/other-clickhouse.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

/* A server that may be anybody's gets neither lines of another protocol nor what another server is meant to get. */

const password = "secret of the loader";

async function other(answer: string): Promise<OtherClickHouse> {
	const server = await OtherClickHouse.start(answer);
	onTestFinished(() => server.close());
	return server;
}

async function checked(url: string, secret: Record<string, string> = {}) {
	const directory = await temporaryDirectory("other-clickhouse");
	const env: Record<string, string> = {};
	for (const [name, content] of Object.entries({
		username: "loader",
		password,
		...secret,
	})) {
		const path = join(directory, name);
		await writeFile(path, content);
		env[fileEnv[name as keyof typeof fileEnv]] = path;
	}
	const { result, log } = await checkDestination(
		{
			type: "ClickHouse",
			url,
			database: "shop",
			engine: "MergeTree",
			isLocal: true,
		},
		env,
	);
	expect(JSON.stringify(result) + log).not.toContain(password);
	return (result as { error?: { code: string; message: string } }).error;
}

test.each(["username", "password"])(
	"a control character in the %s is refused before anything is sent",
	async (name) => {
		const server = await other("HTTP/1.1 200 OK\r\n\r\n");
		const odd = "a\r\nset victim 0 0 1\r\nx\r\n";
		const error = await checked(server.url, { [name]: odd });
		expect(error).toMatchObject({ code: "CredentialsRefused" });
		expect(error!.message).toContain(
			`The ${name} for ClickHouse has a control`,
		);
		expect(error!.message).not.toContain("victim");
		expect(server.received).toEqual([]);
	},
);

test.each([301, 302, 303, 307, 308])(
	"a redirect by status %i takes nothing elsewhere",
	async (status) => {
		const elsewhere = await other("HTTP/1.1 200 OK\r\n\r\n");
		const server = await other(
			`HTTP/1.1 ${status} Elsewhere\r\nlocation: ${elsewhere.url}/\r\ncontent-length: 0\r\n\r\n`,
		);
		expect(await checked(server.url)).toMatchObject({
			code: "ClickHouseNotSpoken",
		});
		expect(server.received[0]).toContain(
			Buffer.from(`loader:${password}`).toString("base64"),
		);
		expect(elsewhere.received).toEqual([]);
	},
);
