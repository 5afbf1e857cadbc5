// In make test: test/control-plane/tenancy/credential-address.laptop.test.ts
import {
	afterAll,
	beforeAll,
	beforeEach,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import {
	type Destination,
	type DestinationSpec,
	destinationKind,
} from "../../../crds/generated/types.ts";
import { checkHash } from "../../../operator/destination/check.ts";
import { kinds } from "../../../packages/kube/kinds.ts";
import { rfc3339 } from "../../../packages/kube/resource.ts";
import { inProcess } from "../../support/cli/in-process.ts";
import {
	CredentialScene,
	clickHouseAt,
	postgresAt,
} from "../../support/fixtures/control-plane/credential-scene.ts";

/* Where a Secret's password may go, by the forms that Secrets and hosts have, and what an upgrade leaves as it is. */

let scene: CredentialScene;
let port: number;
beforeAll(async () => {
	scene = await CredentialScene.start();
	({ port } = scene.stranger);
});
afterAll(() => scene?.stop());
beforeEach(() => void vi.stubEnv("KUBECONFIG", inject("kubeconfig")));

const soon = { timeout: 120_000, interval: 50 };
const authorities = {
	"ca.crt":
		"-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n",
};

type Bound = [data?: Record<string, string>, hosts?: string];

test("a stranger's server gets nothing by any way around the Secret's word", async () => {
	const here = `127.0.0.1:${port}`;
	await scene.secret("mine", authorities, `https://${here} postgres://${here}`);
	const refused: Record<string, [Bound, (secret: string) => DestinationSpec]> =
		{
			silent: [[], (name) => postgresAt("127.0.0.1", port, name)],
			empty: [[{}, " , "], (name) => postgresAt("127.0.0.1", port, name)],
			"own-host": [
				[{ host: "db", port: String(port) }],
				(name) => postgresAt("127.0.0.1", port, name),
			],
			"own-port": [
				[{ host: "127.0.0.1", port: "5432" }],
				(name) => postgresAt("127.0.0.1", port, name, { sslMode: undefined }),
			],
			"less-tls": [
				[{ host: "127.0.0.1", port: String(port) }],
				(name) => postgresAt(undefined, undefined, name),
			],
			"without-name": [
				[{}, `postgres+verify-full://${here}`],
				(name) => postgresAt("127.0.0.1", port, name, { sslMode: "verify-ca" }),
			],
			"other-ca": [
				[{}, `postgres+verify-full://${here}`],
				(name) =>
					postgresAt("127.0.0.1", port, name, {
						sslMode: "verify-full",
						caSecretRef: { name: "mine" },
					}),
			],
			wildcard: [
				[{}, `postgres+disable://*:${port}`],
				(name) => postgresAt("127.0.0.1", port, name),
			],
			userinfo: [
				[{}, `postgres+disable://${here}@db`],
				(name) => postgresAt("127.0.0.1", port, name),
			],
			mapped: [
				[{}, `postgres+disable://db:${port}`],
				(name) => postgresAt("::ffff:127.0.0.1", port, name),
			],
			placeholder: [
				[{}, `postgres+verify-full://<HOST>:${port}`],
				(name) => postgresAt("127.0.0.1", port, name),
			],
			"ch-silent": [[], (name) => clickHouseAt(`http://${here}`, name)],
			"ch-postgres": [
				[{}, `postgres+disable://${here}`],
				(name) => clickHouseAt(`http://${here}`, name),
			],
			"ch-plain": [
				[{ url: `https://${here}` }],
				(name) => clickHouseAt(`http://${here}`, name),
			],
			"ch-host": [
				[{ host: "127.0.0.1", port: String(port) }],
				(name) => clickHouseAt(`http://${here}`, name),
			],
			"ch-ca": [
				[{ url: `https://${here}` }],
				(name) =>
					clickHouseAt(`https://${here}`, name, {
						caSecretRef: { name: "mine" },
					}),
			],
		};
	await Promise.all(
		Object.entries(refused).map(async ([name, [[data, hosts], spec]]) => {
			await scene.secret(name, data, hosts);
			await scene.destination(name, spec(name));
			const { message } = await scene.becomes(name, "HostNotBound");
			expect(message).not.toContain("hunter2");
		}),
	);
	expect(await scene.jobs()).toEqual([]);
	expect(scene.stranger.received).toEqual([]);
});

test("what a Secret names is reached, in every form of Secret and of host", async () => {
	const url = `http://127.0.0.1:${port}`;
	const reached: Record<string, [Bound, (secret: string) => DestinationSpec]> =
		{
			// As CloudNativePG makes it; its TLS is verify-full.
			"cloud-native": [
				[
					{
						user: "app",
						dbname: "app",
						host: "localhost",
						port: String(port),
						uri: `postgresql://app:hunter2@localhost.shop:${port}/app`,
					},
				],
				(name) =>
					postgresAt(undefined, undefined, name, { sslMode: undefined }),
			],
			// As a template of ExternalSecrets makes it.
			external: [
				[{}, `postgres+disable://127.0.0.1:${port}`],
				(name) => postgresAt("127.0.0.1", port, name),
			],
			"final-dot": [
				[{}, `postgres+disable://LOCALHOST:${port}`],
				(name) => postgresAt("localhost.", port, name),
			],
			more: [
				[{}, `postgres+require://127.0.0.1:${port}`],
				(name) => postgresAt("127.0.0.1", port, name, { sslMode: undefined }),
			],
			"own-ca": [
				[authorities, `postgres://127.0.0.1:${port}`],
				(name) =>
					postgresAt("127.0.0.1", port, name, {
						sslMode: "verify-full",
						caSecretRef: { name },
					}),
			],
			"ch-url": [[{ url }], (name) => clickHouseAt(`${url}/`, name)],
		};
	for (const [name, [[data, hosts], spec]] of Object.entries(reached)) {
		const before = scene.stranger.received.length;
		await scene.secret(name, data, hosts);
		await scene.destination(name, spec(name));
		await vi.waitFor(
			() =>
				expect(scene.stranger.received.length, name).toBeGreaterThan(before),
			soon,
		);
	}
	// ClickHouse's password is in the first request.
	const basic = Buffer.from("app:hunter2").toString("base64");
	await vi.waitFor(
		() => expect(scene.stranger.received.join()).toContain(basic),
		soon,
	);
});

/** As the build before left a Destination that it had verified. Settles when the operator has looked at it. */
async function leaveVerified(name: string, secret: string): Promise<void> {
	const { client } = scene.world;
	const { metadata, spec } = (await client.get<Destination>(
		destinationKind,
		name,
		scene.account,
	))!;
	const stored = (await client.get(kinds.secret, secret, scene.account))!;
	const time = rfc3339(Date.now());
	const ready = {
		type: "Ready",
		status: "True",
		reason: "Verified",
		message: "A check from inside the namespace could write.",
		observedGeneration: metadata.generation,
		lastTransitionTime: time,
	};
	await client.patch<Destination>(
		destinationKind,
		name,
		scene.account,
		{
			status: {
				observedGeneration: metadata.generation,
				phase: "Ready",
				reached: null,
				lastCheck: { hash: checkHash(spec, [stored]), time, failures: 0 },
				conditions: [ready],
			},
		},
		"merge",
		{ subresource: "status" },
	);
	await vi.waitFor(async () => {
		const seen = await client.get<Destination>(
			destinationKind,
			name,
			scene.account,
		);
		expect(seen?.status?.reached).toBeDefined();
	}, soon);
}

const change = (name: string, postgres: object) =>
	scene.editor.patch<Destination>(
		destinationKind,
		name,
		scene.account,
		{ spec: { postgres } },
		"merge",
	);

test("a Destination that was Ready before the upgrade goes on to that address alone, is told of, and gets no second grace", async () => {
	const spec = postgresAt("127.0.0.1", port, "before");
	await scene.secret("before");
	await scene.destination("before", spec);
	await scene.becomes("before", "HostNotBound");
	await leaveVerified("before", "before");
	const { status } = await scene.becomes("before", "VerifiedUnbound");
	const address = `postgres+disable://127.0.0.1:${port}`;
	expect(status.reached).toMatchObject({ address, unbound: true });

	const { stdout } = await inProcess("doctor", "-n", scene.account);
	expect(stdout).toContain(
		`kubectl annotate secret before -n ${scene.account} tidemill.dev/hosts=`,
	);

	const { received } = scene.stranger;
	const calls = received.length;
	await scene.world.client.patch<Destination>(
		destinationKind,
		"before",
		scene.account,
		{ metadata: { annotations: { "tidemill.dev/check": "1" } } },
		"merge",
	);
	await vi.waitFor(() => expect(received.length).toBeGreaterThan(calls), soon);

	await change("before", { host: "localhost" });
	await scene.becomes("before", "HostNotBound");
	// The check that was asked for may still be at it.
	await vi.waitFor(async () => {
		const { client } = scene.world;
		const pods = await client.list(kinds.pod, { namespace: scene.account });
		expect(pods.items).toEqual([]);
	}, soon);
	const after = received.length;
	await change("before", { host: "127.0.0.1" });
	await scene.becomes("before", "HostNotBound");
	await scene.editor.delete(destinationKind, "before", scene.account);
	await scene.destination("before", spec);
	await scene.becomes("before", "HostNotBound");
	expect(received.length).toBe(after);

	await scene.bind("before", address);
	await vi.waitFor(() => expect(received.length).toBeGreaterThan(after), soon);
});

test("a Secret with a host binds what was verified before the upgrade, and no less afterwards", async () => {
	const name = "had-host";
	await scene.secret(name, { host: "127.0.0.1", port: String(port) });
	await scene.destination(name, postgresAt(undefined, undefined, name));
	await scene.becomes(name, "HostNotBound");
	await leaveVerified(name, name);
	const { status } = await scene.becomes(name, "Verified");
	expect(status.reached).not.toHaveProperty("unbound");
	await change(name, { host: "localhost" });
	await scene.becomes(name, "HostNotBound");
	await change(name, { host: null });
	await scene.becomes(name, "Verified");
});

test("a Destination that was Ready stops when the Secret binds its host no more", async () => {
	const name = "unbound-again";
	await scene.secret(name, {}, `postgres+disable://127.0.0.1:${port}`);
	await scene.destination(name, postgresAt("127.0.0.1", port, name));
	await scene.becomes(name, "CheckFailed");
	await leaveVerified(name, name);
	await scene.becomes(name, "Verified");
	await scene.bind(name, null);
	await scene.becomes(name, "HostNotBound");
});
