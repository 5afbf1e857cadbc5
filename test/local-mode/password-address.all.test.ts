// In make test: test/control-plane/tenancy/credential-address.laptop.test.ts
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import type { ApiBody } from "../support/fixtures/control-plane/api-fixture.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";
import { hasPostgres } from "./setup.ts";

/* An editor may change a Destination's address and not read its password: so the password goes only where whoever gave it said. */

const soon = { timeout: 120_000, interval: 100 };
const trapHost = "127.0.0.2";

describe.skipIf(!hasPostgres)("a password that REST got", () => {
	let local: LocalMode;
	let trap: Server;
	let user: { username: string; password: string };
	let address: Record<string, unknown>;
	let token: string;
	/** What came to the trap: an address that an editor would like to get the password. */
	const caught: Buffer[] = [];

	beforeAll(async () => {
		local = await openLocalMode("bound");
		const { data } = (await local.client.get<Secret>(
			...([kinds.secret, "postgres", "default"] as const),
		))!;
		const of = (key: string) => Buffer.from(data![key]!, "base64").toString();
		const port = Number(of("port"));
		user = { username: of("username"), password: of("password") };
		address = { host: of("host"), port, sslMode: "disable" };
		await local.run("kubectl", "create", "serviceaccount", "editor");
		await local.run(
			...["kubectl", "create", "rolebinding", "editor"],
			...["--clusterrole=tidemill-editor", "--serviceaccount=bound:editor"],
		);
		token = (await local.run("kubectl", "create", "token", "editor")).trim();
		trap = createServer((socket) => {
			socket.on("data", (bytes: Buffer) => caught.push(bytes));
			socket.on("error", () => undefined);
		});
		await new Promise<void>((done) => trap.listen(port, trapHost, done));
	});
	afterAll(() => trap?.close());

	/** As the editor. */
	async function rest(method: string, path: string, body?: object) {
		const url = await local.run("sh", "-c", "printf $TIDEMILL_API_URL");
		const response = await fetch(`${url}${path}`, {
			method,
			headers: {
				authorization: `Bearer ${token}`,
				...(body && { "content-type": "application/json" }),
			},
			...(body && { body: JSON.stringify(body) }),
		});
		return {
			status: response.status,
			body: (await response.json()) as ApiBody,
		};
	}

	const patch = (postgres: object) =>
		rest("PATCH", "/destinations/lake", { postgres });

	/** Waits for the operator's word on the newest spec. */
	function becomes(reason: string, name = "lake") {
		return vi.waitFor(async () => {
			const seen = (await local.client.get<Destination>(
				...([destinationKind, name, "bound"] as const),
			))!;
			expect(seen.status?.observedGeneration).toBe(seen.metadata.generation);
			const ready = findCondition(seen.status?.conditions, "Ready");
			expect(ready?.reason, ready?.message).toBe(reason);
			return { ...seen, message: ready!.message };
		}, soon);
	}

	/** The Secret of the Destination as it is. */
	async function secret() {
		const { spec } = (await local.client.get<Destination>(
			...([destinationKind, "lake", "bound"] as const),
		))!;
		const { name } = spec.postgres!.credentials.secretRef;
		return (await local.client.get<Secret>(kinds.secret, name, "bound"))!;
	}

	const hosts = ({ metadata }: Secret) =>
		metadata.annotations?.["tidemill.dev/hosts"];

	test("is bound to the address of its request, and the Destination is Ready", async () => {
		const made = await rest("POST", "/destinations", {
			...{ name: "lake", type: "Postgres" },
			postgres: { ...address, database: "postgres", credentials: user },
		});
		expect(made.status, JSON.stringify(made.body)).toBe(201);
		expect(JSON.stringify(made.body)).not.toContain(user.password);
		await becomes("Verified");
		expect(hosts(await secret())).toBe(
			`postgres+disable://${address.host}:${address.port}`,
		);
	});

	test("isn't sent to another host, whatever an editor tries with what is there", async () => {
		const { metadata } = await secret();
		const credentials = { secretRef: { name: metadata.name } };
		expect((await patch({ host: trapHost })).status).toBe(200);
		const { message } = await becomes("HostNotBound");
		expect(message).toContain("Give the user and the password again");
		expect(message).toContain(`kubectl annotate secret ${metadata.name}`);
		// The placeholder is for a person: no command has the host that an editor asks for.
		expect(/kubectl annotate.*?'[^']*'/.exec(message)![0]).not.toContain(
			trapHost,
		);
		const others = await rest("POST", "/destinations", {
			...{ name: "other", type: "Postgres" },
			postgres: { ...address, host: trapHost, database: "d", credentials },
		});
		expect(others.status).toBe(201);
		await becomes("HostNotBound", "other");
		for (const body of [
			{ annotations: { "tidemill.dev/hosts": `postgres://${trapHost}` } },
			{ postgres: { credentials: { password: "mine" } } },
			{ postgres: { credentials: { ...user, ...credentials } } },
			{ postgres: { credentials: { hosts: `postgres://${trapHost}` } } },
		])
			expect((await rest("PATCH", "/destinations/lake", body)).status).toBe(
				400,
			);
		const asEditor = ["--as=system:serviceaccount:bound:editor"];
		const bind = `tidemill.dev/hosts=postgres+disable://${trapHost}:${address.port}`;
		for (const command of [
			["annotate", "secret", metadata.name, bind, "--overwrite"],
			["create", "secret", "generic", metadata.name],
			["delete", "secret", metadata.name],
		])
			await expect(
				local.run("kubectl", ...command, ...asEditor),
			).rejects.toThrow(/Forbidden|forbidden|denied|AlreadyExists/);
		expect(hosts(await secret())).not.toContain(trapHost);
		// A check that is asked for ends, too, before anything is looked at.
		await rest("POST", "/destinations/lake/check");
		await becomes("HostNotBound");
		expect(caught).toEqual([]);
	});

	test("goes to a new address once whoever has it gives it again, beside all of that", async () => {
		const before = await secret();
		const alone = await patch({ credentials: user });
		expect(alone.status).toBe(400);
		expect(alone.body.details).toEqual(
			["host", "port", "sslMode"].map((field) => ({
				path: `postgres.${field}`,
				message: expect.stringContaining("must be given beside password"),
			})),
		);
		expect((await patch({ ...address, credentials: user })).status).toBe(200);
		await becomes("Verified");
		expect((await secret()).metadata.name).not.toBe(before.metadata.name);
	});

	test("of the editor's own goes where the editor says", async () => {
		const credentials = { username: "mine", password: "mine" };
		await patch({ ...address, host: trapHost, credentials });
		await vi.waitFor(() => expect(caught).not.toEqual([]), soon);
		const seen = Buffer.concat(caught).toString("latin1");
		expect(seen).toContain("mine");
		expect(seen).not.toContain(user.password);
	});
});
