import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Kvm } from "@nats-io/kv";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { retentionKey, shardKey } from "../../packages/contracts/ledger.ts";
import { bucket } from "../../packages/contracts/nats.ts";
import { routeKey, syncedKey } from "../../packages/contracts/route.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import { republished } from "../../packages/streams/made-streams.ts";
import { applyYaml } from "../support/fixtures/control-plane/apply-yaml.ts";
import {
	eventReasons,
	routesIn,
} from "../support/fixtures/control-plane/cluster-state.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

const sealKeyText = randomBytes(32).toString("hex");
const sealKeyId = new SealKey(Buffer.from(sealKeyText)).id;
let fixture: OperatorWorld;
let directory: string;
let account: string;
let other: string;

beforeAll(async () => {
	directory = await temporaryDirectory("operator");
	const sealKeyFile = join(directory, "seal-key");
	await writeFile(sealKeyFile, sealKeyText);
	fixture = await OperatorWorld.start({
		archive: "none",
		node: "none",
		env: { TIDEMILL_SEAL_KEY: sealKeyFile },
	});
	[account, other] = fixture.accounts;
	const routes = await new Kvm(fixture.connection).create(
		bucket.routes,
		republished(bucket.routes),
	);
	await routes.put(routeKey("f".repeat(32)), '{"source":"stray"}');
	fixture.startOperator();
});

afterAll(async () => {
	await fixture?.stop();
	await rm(directory, { recursive: true, force: true });
});

const soon = { timeout: 120_000, interval: 50 };

function sourceYaml(name: string, spec = ""): string {
	return `apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: ${name} }
spec: { type: Webhook${spec && `, ${spec}`} }`;
}

function tokenYaml(name: string, token: string, labels = ""): string {
	return `apiVersion: v1
kind: Secret
metadata: { name: ${name}, labels: { ${labels} } }
stringData: { token: ${token} }`;
}

/** Long enough for an operator to take it. */
const token = (text: string) => text.padEnd(16, "-");

const customToken = (secret: string) =>
	`webhook: { authorization: { type: CustomToken, customToken: { secretRef: { name: ${secret}, key: token } } } }`;

/** Waits until the Source's Ready condition has this reason. */
async function sourceWith(
	reason: string,
	name: string,
	namespace = account,
): Promise<Source> {
	return vi.waitFor(async () => {
		const source = await fixture.client.get<Source>(
			sourceKind,
			name,
			namespace,
		);
		const ready = findCondition(source?.status?.conditions, "Ready");
		expect(ready?.reason).toBe(reason);
		return source!;
	}, soon);
}

function routeOf(source: string) {
	return routesIn(fixture.connection).then(({ routes }) => routes[source]);
}

function sha256(text: string): string {
	return createHash("sha256").update(text).digest("hex");
}

/** The digest that receivers compare a Source's tokens with. */
async function tokenDigest(source: string, token: string): Promise<string> {
	const { sourceKey } = (await routeOf(source))!;
	return new SealKey(Buffer.from(sealKeyText)).digest(token, sourceKey);
}

test("a bucket with strays is cleaned before it is marked as synced", async () => {
	await vi.waitFor(
		async () =>
			expect(await routesIn(fixture.connection)).toEqual({
				synced: true,
				routes: {},
			}),
		soon,
	);
});

test("an applied Source is Active, with a URL whose route receivers have", async () => {
	await applyYaml(account, sourceYaml("orders"));
	const { status } = await sourceWith("Active", "orders");
	expect(status?.phase).toBe("Active");
	const [, sourceKey, urlKey] =
		/^https:\/\/in\.example\/hooks\/([0-9a-f]{32})\/([0-9a-f]{32})$/.exec(
			status?.webhookURL ?? "",
		) ?? [];
	expect(await routeOf("orders")).toEqual({
		version: 1,
		account,
		source: "orders",
		sourceKey,
		urlKeyDigest: sha256(urlKey!),
		shard: 0,
		suspended: false,
		authorization: { type: "None" },
		maxBodyBytes: 1_048_576,
		capturedHeaders: [],
	});
	await vi.waitFor(
		async () =>
			expect(
				await eventReasons(fixture.client, sourceKind, account, "orders"),
			).toEqual(expect.arrayContaining(["URLIssued", "Active"])),
		soon,
	);
});

test("a route that somebody removes or replaces is soon as its Source wants it", async () => {
	await applyYaml(account, sourceYaml("meddled"));
	const { status } = await sourceWith("Active", "meddled");
	const before = await routesIn(fixture.connection);
	const kv = await new Kvm(fixture.connection).open(bucket.routes);
	const key = routeKey(status!.sourceKey!);
	const stale = { ...before.routes.meddled, suspended: true };
	for (const meddle of [
		() => kv.purge(key),
		() => kv.delete(key),
		() => kv.put(key, JSON.stringify(stale)),
		() => kv.purge(syncedKey),
	]) {
		await meddle();
		await vi.waitFor(
			async () => expect(await routesIn(fixture.connection)).toEqual(before),
			soon,
		);
	}
});

test("a Source that needs nothing is not written again", async () => {
	await applyYaml(account, sourceYaml("quiet"));
	const before = await sourceWith("Active", "quiet");
	// Any other Source's change makes the operator look at everything that routes are made of.
	await applyYaml(account, sourceYaml("loud"));
	await sourceWith("Active", "loud");
	const after = await sourceWith("Active", "quiet");
	expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

test("a Source that is deleted and applied again has its URL back", async () => {
	await applyYaml(account, sourceYaml("again"));
	const before = await sourceWith("Active", "again");
	await fixture.client.delete(sourceKind, "again", account);
	await vi.waitFor(
		async () => expect(await routeOf("again")).toBeUndefined(),
		soon,
	);
	await applyYaml(account, sourceYaml("again"));
	const after = await sourceWith("Active", "again");
	expect(after.metadata.uid).not.toBe(before.metadata.uid);
	expect(after.status?.webhookURL).toBe(before.status?.webhookURL);
	expect(await routeOf("again")).toBeDefined();
});

test("suspending a Source suspends its route", async () => {
	await applyYaml(account, sourceYaml("pausing"));
	await sourceWith("Active", "pausing");
	await applyYaml(account, sourceYaml("pausing", "suspend: true"));
	const { status } = await sourceWith("Suspended", "pausing");
	expect(status?.phase).toBe("Suspended");
	expect((await routeOf("pausing"))?.suspended).toBe(true);
});

test("a token is in the route as a digest, and follows its Secret", async () => {
	const labels = 'tidemill.dev/use: "true"';
	await applyYaml(account, tokenYaml("token", token("first"), labels));
	await applyYaml(account, sourceYaml("guarded", customToken("token")));
	await sourceWith("Active", "guarded");
	expect((await routeOf("guarded"))?.authorization).toEqual({
		type: "CustomToken",
		digests: [await tokenDigest("guarded", token("first"))],
		sealKeyId,
	});

	await applyYaml(account, tokenYaml("token", token("second"), labels));
	await vi.waitFor(
		async () =>
			expect((await routeOf("guarded"))?.authorization).toEqual({
				type: "CustomToken",
				digests: [await tokenDigest("guarded", token("second"))],
				sealKeyId,
			}),
		soon,
	);
});

test("signing secrets are in the route sealed, follow their Secrets, and rest while nothing changes", async () => {
	const labels = 'tidemill.dev/use: "true"';
	await applyYaml(account, tokenYaml("signing", "first", labels));
	await applyYaml(account, tokenYaml("signing-next", "second", labels));
	await applyYaml(
		account,
		sourceYaml(
			"signed",
			"webhook: { authorization: { type: Signature, signature: { scheme: GitHub, secretRefs: [{ name: signing, key: token }, { name: signing-next, key: token }] } } }",
		),
	);
	const { status } = await sourceWith("Active", "signed");
	const sealKey = new SealKey(Buffer.from(sealKeyText));
	const opened = async () => {
		const authorization = (await routeOf("signed"))?.authorization;
		if (authorization?.type !== "Signature") return undefined;
		expect(authorization.toleranceSeconds).toBe(300);
		return authorization.keys.map(({ sealed }) =>
			sealKey.open(sealed, status!.sourceKey!).toString(),
		);
	};
	expect(await opened()).toEqual(["first", "second"]);
	expect(JSON.stringify(await routeOf("signed"))).not.toContain("first");

	const kv = await new Kvm(fixture.connection).open(bucket.routes);
	const key = routeKey(status!.sourceKey!);
	const { revision } = (await kv.get(key))!;
	await applyYaml(account, sourceYaml("other-change"));
	await sourceWith("Active", "other-change");
	expect((await kv.get(key))?.revision).toBe(revision);

	await applyYaml(account, tokenYaml("signing", "third", labels));
	await vi.waitFor(
		async () => expect(await opened()).toEqual(["third", "second"]),
		soon,
	);
});

test("a public key is in the route, follows its Secret, and Ready says what its signatures don't prove", async () => {
	const labels = 'tidemill.dev/use: "true"';
	const keys = [0, 1].map(() =>
		generateKeyPairSync("ed25519")
			.publicKey.export({ format: "der", type: "spki" })
			.subarray(-32)
			.toString("hex"),
	);
	const custom =
		'{ header: x-signature, algorithm: Ed25519, encoding: Hex, signedString: "{header:x-id}", bodyUnsigned: true, publicKey: { secretRef: { name: public, key: token } } }';
	await applyYaml(
		account,
		sourceYaml(
			"checked",
			`webhook: { authorization: { type: Signature, signature: { scheme: Custom, custom: ${custom} } } }`,
		),
	);
	await applyYaml(account, tokenYaml("public", `"${keys[0]}"`, labels));
	const { status } = await sourceWith("Active", "checked");
	expect(status!.conditions![0]!.message).toMatch(
		/accepts events\. A signature doesn't prove that the body is the provider's, because bodyUnsigned is true/,
	);
	const sealKey = new SealKey(Buffer.from(sealKeyText));
	const opened = async () => {
		const authorization = (await routeOf("checked"))?.authorization;
		if (authorization?.type !== "Signature") return undefined;
		return authorization.keys.map(({ sealed }) =>
			sealKey.open(sealed, status!.sourceKey!).toString("hex"),
		);
	};
	expect(await opened()).toEqual([keys[0]]);
	await applyYaml(account, tokenYaml("public", `"${keys[1]}"`, labels));
	await vi.waitFor(async () => expect(await opened()).toEqual([keys[1]]), soon);
	await applyYaml(account, tokenYaml("public", "not-a-key", labels));
	const refused = await sourceWith("SigningSecretInvalid", "checked");
	expect(refused.status!.conditions![0]!.message).toMatch(
		/^Key "token" of Secret "public" holds no public key of Ed25519/,
	);
});

test("a changed Secret reaches the route without a change of the Source", async () => {
	const labels = 'tidemill.dev/use: "true"';
	await applyYaml(account, tokenYaml("quick", token("first"), labels));
	await applyYaml(account, sourceYaml("watched", customToken("quick")));
	await sourceWith("Active", "watched");
	const data = { token: Buffer.from(token("second")).toString("base64") };
	await fixture.client.patch(kinds.secret, "quick", account, { data }, "merge");
	await vi.waitFor(
		async () =>
			expect((await routeOf("watched"))?.authorization).toEqual({
				type: "CustomToken",
				digests: [await tokenDigest("watched", token("second"))],
				sealKeyId,
			}),
		soon,
	);
});

test("each new value of the annotation rotate-url gives a Source another url key, once", async () => {
	await applyYaml(account, sourceYaml("rotating"));
	const before = await sourceWith("Active", "rotating");
	const annotate = (value: string | null) =>
		fixture.client.patch(
			sourceKind,
			"rotating",
			account,
			{ metadata: { annotations: { "tidemill.dev/rotate-url": value } } },
			"merge",
		);
	await annotate("2026-03-01");
	const after = await vi.waitFor(async () => {
		const source = await sourceWith("Active", "rotating");
		expect(source.status?.webhookURL).not.toBe(before.status?.webhookURL);
		return source;
	}, soon);
	expect(after.status?.sourceKey).toBe(before.status?.sourceKey);
	const urlKey = after.status!.webhookURL!.split("/").at(-1)!;
	expect((await routeOf("rotating"))?.urlKeyDigest).toBe(sha256(urlKey));

	// What is deleted and applied again without the annotation keeps the URL; the Event tells of one rotation.
	await annotate(null);
	await applyYaml(account, sourceYaml("rotating", "suspend: true"));
	const { status } = await sourceWith("Suspended", "rotating");
	expect(status?.webhookURL).toBe(after.status?.webhookURL);
	await vi.waitFor(async () => {
		const told = await eventReasons(
			fixture.client,
			sourceKind,
			account,
			"rotating",
		);
		expect(told.filter((reason) => reason === "URLRotated")).toHaveLength(1);
	}, soon);
});

test("a Source whose Secret is deleted gets another URL, which leads to the same events", async () => {
	await applyYaml(account, sourceYaml("forgetful"));
	const before = await sourceWith("Active", "forgetful");
	await fixture.client.delete(kinds.secret, "forgetful-webhook-url", account);
	const after = await vi.waitFor(async () => {
		const source = await sourceWith("Active", "forgetful");
		expect(source.status?.webhookURL).not.toBe(before.status?.webhookURL);
		return source;
	}, soon);
	expect(after.status?.sourceKey).toBe(before.status?.sourceKey);
	const urlKey = after.status!.webhookURL!.split("/").at(-1)!;
	expect(await routeOf("forgetful")).toMatchObject({
		sourceKey: before.status!.sourceKey,
		urlKeyDigest: sha256(urlKey),
	});
});

test("a key that another account has taken is not served", async () => {
	await applyYaml(account, sourceYaml("mine"));
	const mine = await sourceWith("Active", "mine");
	const secret = (await fixture.client.get(
		kinds.secret,
		"mine-webhook-url",
		account,
	))!;
	const { labels, name } = secret.metadata;
	await fixture.client.create(kinds.secret, {
		metadata: { name, namespace: other, labels: labels! },
		data: secret.data!,
	});
	await applyYaml(other, sourceYaml("mine"));
	const copy = await sourceWith("KeyTaken", "mine", other);
	expect(copy.status?.webhookURL).toBeUndefined();
	expect((await routeOf("mine"))?.account).toBe(account);
	expect(mine.status?.webhookURL).toBeDefined();
});

test("an owner that was written behind the operator's back counts as well", async () => {
	const sourceKey = randomBytes(16).toString("hex");
	const owners = await new Kvm(fixture.connection).create(
		bucket.sourceKeys,
		republished(bucket.sourceKeys),
	);
	await owners.create(sourceKey, "elsewhere");
	const labels = `tidemill.dev/use: "true", tidemill.dev/issued-for: copied`;
	await applyYaml(
		account,
		`apiVersion: v1
kind: Secret
metadata: { name: copied-webhook-url, labels: { ${labels} } }
stringData: { sourceKey: "${sourceKey}", urlKey: "${sourceKey}", shard: "0" }`,
	);
	await applyYaml(account, sourceYaml("copied"));
	await sourceWith("KeyTaken", "copied");
	expect(await routeOf("copied")).toBeUndefined();
	expect((await owners.get(sourceKey))?.string()).toBe("elsewhere");
});

test("what archive says of a Source is in its status", async () => {
	await applyYaml(account, sourceYaml("counted"));
	const { status } = await sourceWith("Active", "counted");
	const ledger = await new Kvm(fixture.connection).create(
		bucket.ledger,
		republished(bucket.ledger),
	);
	await ledger.put(
		status!.sourceKey!,
		JSON.stringify({
			version: 1,
			account,
			sourceKey: status!.sourceKey,
			firstEventDate: "2026-02-28",
			lastEventTime: "2026-03-01T11:59:59Z",
			archivedThrough: "2026-03-01T12:00:00Z",
			archived: { "2026-02-28": 2, "2026-03-01": 3 },
		}),
	);
	await ledger.put(
		retentionKey,
		JSON.stringify({ version: 1, days: 30, enforcedBy: "Sweep" }),
	);
	const { shard } = status!;
	await ledger.put(
		shardKey(shard!),
		JSON.stringify({ version: 1, shard, lostFrames: { "2026-03-01": 1 } }),
	);
	await vi.waitFor(async () => {
		const counted = await sourceWith("Active", "counted");
		expect(counted.status).toMatchObject({
			firstEventDate: "2026-02-28",
			counts: { accepted: 5, archived: 5, quarantined: 0 },
			retention: { days: 30, enforcedBy: "Sweep" },
		});
		expect(counted.status!.conditions).toContainEqual(
			expect.objectContaining({ type: "EventsLost", status: "True" }),
		);
	}, soon);
});

test("a NATS that lost its data gets everything again", async () => {
	const before = await routesIn(fixture.connection);
	expect(Object.keys(before.routes)).toContain("orders");
	const kvm = new Kvm(fixture.connection);
	for (const name of [bucket.routes, bucket.sourceKeys])
		await (await kvm.open(name)).destroy();
	await fixture.nats.kill();
	await fixture.nats.start();
	await vi.waitFor(
		async () =>
			expect(await routesIn(fixture.connection)).toMatchObject(before),
		soon,
	);
});

test("it stops in order, and a later start finds everything as it was", async () => {
	const before = await sourceWith("Active", "orders");
	expect(await fixture.stopOperator()).toBe(0);
	await fixture.client.delete(sourceKind, "loud", account);
	fixture.startOperator();
	// A change during the outage is seen.
	await vi.waitFor(
		async () => expect(await routeOf("loud")).toBeUndefined(),
		soon,
	);
	const after = await sourceWith("Active", "orders");
	expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

test("a new seal key seals all routes anew, without a restart", async () => {
	const labels = 'tidemill.dev/use: "true"';
	await applyYaml(account, tokenYaml("sealed", token("first"), labels));
	await applyYaml(account, sourceYaml("resealed", customToken("sealed")));
	await sourceWith("Active", "resealed");
	const next = randomBytes(32).toString("hex");
	const key = new SealKey(Buffer.from(next));
	const file = join(directory, "seal-key");
	await writeFile(`${file}-former`, sealKeyText);
	await writeFile(file, next);
	const { sourceKey } = (await routeOf("resealed"))!;
	await vi.waitFor(
		async () =>
			expect((await routeOf("resealed"))?.authorization).toEqual({
				type: "CustomToken",
				digests: [key.digest(token("first"), sourceKey)],
				sealKeyId: key.id,
			}),
		soon,
	);
	// The others, too.
	await vi.waitFor(async () => {
		const { routes } = await routesIn(fixture.connection);
		const ids = Object.values(routes).flatMap(({ authorization }) => {
			if (authorization.type === "CustomToken")
				return [authorization.sealKeyId];
			if (authorization.type !== "Signature") return [];
			return authorization.keys.map(({ sealKeyId }) => sealKeyId);
		});
		expect(new Set(ids)).toEqual(new Set([key.id]));
	}, soon);
});
