// In make test: operator/health.test.ts
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { kinds } from "../../packages/kube/kinds.ts";
import { OperatorWorld } from "../support/fixtures/control-plane/operator-world.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

let fixture: OperatorWorld;
let directory: string;

beforeAll(async () => {
	// It looks at its lease every two seconds.
	fixture = await OperatorWorld.start({
		archive: "none",
		node: "none",
		env: { LEASE_DURATION_SECONDS: "15" },
	});
	directory = await mkdtemp(join(tmpdir(), "tidemill-test-operator-"));
});

afterAll(async () => {
	await fixture?.stop();
	await rm(directory, { recursive: true, force: true });
});

const settings = {
	NATS_URL: "nats://operator:secret@127.0.0.1:1",
	TIDEMILL_RECEIVE_URL: "https://in.example",
	TIDEMILL_IMAGE: "tidemill.local/tidemill:test",
	WATCH_NAMESPACES: "*",
	HEALTH_PORT: "0",
};

test("a malformed kubeconfig is named without showing its content", async () => {
	const KUBECONFIG = join(directory, "kubeconfig");
	await writeFile(KUBECONFIG, "users: [{ name: u, user: { token: s3cret }");
	const { exitCode, stdout, stderr } = await startTidemill(["operator"], {
		...settings,
		KUBECONFIG,
	}).ended;
	expect(exitCode).toBe(2);
	expect(stderr).toContain(`The kubeconfig ${KUBECONFIG} can't be read`);
	expect(stdout + stderr).not.toContain("s3cret");
});

test("a port for its health that is taken is named", async () => {
	const taken = createServer().listen(0, "127.0.0.1");
	await once(taken, "listening");
	const { port } = taken.address() as AddressInfo;
	const { exitCode, stderr } = await startTidemill(["operator"], {
		...settings,
		KUBECONFIG: inject("kubeconfig"),
		HEALTH_PORT: String(port),
	}).ended;
	taken.close();
	expect(exitCode).toBe(2);
	expect(stderr).toContain(
		`HEALTH_PORT is ${port}, a port that another process uses. Set HEALTH_PORT to a free port.`,
	);
});

test("without NATS it keeps running, says what it waits for, and stops when told", async () => {
	const operator = startTidemill(["operator"], {
		...settings,
		KUBECONFIG: inject("kubeconfig"),
	});
	const port = await new Promise<number>((resolve) => {
		operator.onLine = (line) => {
			const { healthPort } = JSON.parse(line) as { healthPort?: number };
			if (healthPort) resolve(healthPort);
		};
	});
	const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
	expect([ready.status, await ready.text()]).toEqual([
		503,
		"waiting for NATS\n",
	]);
	expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
	operator.child.kill("SIGTERM");
	expect((await operator.ended).exitCode).toBe(0);
});

test("an operator whose lease another has taken ends", async () => {
	fixture.startOperator();
	const [namespace] = fixture.accounts;
	const held = await vi.waitFor(
		async () => {
			const lease = await fixture.client.get(
				kinds.lease,
				"tidemill-operator",
				namespace,
			);
			expect(lease?.spec?.holderIdentity).toBeTruthy();
			return lease!;
		},
		{ timeout: 120_000, interval: 50 },
	);
	await fixture.client.patch(
		kinds.lease,
		held.metadata.name,
		namespace,
		{ spec: { holderIdentity: "another" } },
		"merge",
	);
	expect(await fixture.operatorEnded()).toBe(1);
});
