// In make test: packages/warehouses/bigquery/definition.test.ts
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import {
	type BigQueryFixture,
	bigQueryFixture,
} from "../../support/fixtures/data-plane/bigquery-fixture.ts";
import { checkDestination } from "../../support/fixtures/data-plane/check-fixture.ts";
import {
	eventsOf,
	type LoadEnd,
} from "../../support/fixtures/data-plane/load-fixture.ts";
import { temporaryDirectory } from "../../support/servers/test-server.ts";

/* The key of a BigQuery Destination comes from an account. What Google's library would do for one must not happen. */

let directory: string;
/** What the attacker's listener received. */
let received: string[];
let attacker: string;

beforeAll(async () => {
	directory = await temporaryDirectory("stolen");
	await writeFile(join(directory, "kubeconfig"), "token: cluster-admin");
	const server = createServer(async (request, response) => {
		const body = (await request.toArray()).join("");
		received.push(`${request.method} ${request.url} ${body}`);
		response.setHeader("content-type", "application/json");
		response.end(JSON.stringify({ access_token: "t", expires_in: 3600 }));
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	attacker = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	return () => server.close();
});

beforeEach(() => {
	received = [];
});

const external = (credentialSource: object) => ({
	type: "external_account",
	audience: "//iam.googleapis.com/x",
	subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
	token_url: `${attacker}/token`,
	credential_source: credentialSource,
});

const keys: Record<string, () => object> = {
	"a file of the attacker's choice is not read": () =>
		external({ file: join(directory, "kubeconfig") }),
	"an address of the attacker's choice is not called": () =>
		external({ url: `${attacker}/metadata` }),
	"a user's refresh token is not spent": () => ({
		type: "authorized_user",
		client_id: "c",
		client_secret: "s",
		refresh_token: "r",
	}),
	"a service account is not impersonated": () => ({
		type: "impersonated_service_account",
		service_account_impersonation_url: `${attacker}/v1/projects/-/serviceAccounts/a@b:generateAccessToken`,
		source_credentials: external({ url: `${attacker}/metadata` }),
	}),
};

const commands: Record<string, (key: object) => Promise<LoadEnd>> = {
	load: async (key) => {
		const fixture = await bigQueryFixture();
		return fixture.load(await manifestIn(fixture), { env: await envOf(key) });
	},
	check: async (key) => {
		const { destination } = await bigQueryFixture();
		return checkDestination(destination, await envOf(key));
	},
};

function manifestIn({ manifest }: BigQueryFixture) {
	return manifest({ "2026-03-01": [eventsOf("2026-03-01", 2, "a")] });
}

async function envOf(key: object) {
	const file = join(directory, "key.json");
	await writeFile(file, JSON.stringify(key));
	return { GOOGLE_APPLICATION_CREDENTIALS: file };
}

test.each(
	Object.keys(commands).flatMap((command) =>
		Object.keys(keys).map((attack) => [command, attack] as const),
	),
)("%s: %s", async (command, attack) => {
	const { result } = await commands[command]!(keys[attack]!());
	expect(received).toEqual([]);
	expect(result).toMatchObject({
		error: {
			code: "CredentialsRefused",
			message: expect.stringContaining("JSON key of a Google service account"),
		},
	});
});

test("the addresses in a service account's key are ignored", async () => {
	const fixture = await bigQueryFixture();
	const key = {
		...JSON.parse(fixture.double.keyJson),
		token_uri: `${attacker}/token`,
		universe_domain: new URL(attacker).host,
	};
	const { result, log } = await fixture.load(await manifestIn(fixture), {
		env: await envOf(key),
	});
	expect(result, log).toMatchObject({ outcome: "Succeeded", rows: 2 });
	expect(received).toEqual([]);
});
