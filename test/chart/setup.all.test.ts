// On a laptop nothing proves this: Helm is built for minutes.
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, inject, test } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { parse, stringify } from "yaml";
import { examples, render } from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";
import { kubectlDone } from "../support/servers/kubectl.ts";
import { startTidemill } from "../support/servers/tidemill-process.ts";

/* `tidemill setup` as the chart runs it: with the arguments of its Job and the permissions of its Role. */

const namespace = "setup";
let job: Rendered;
let args: string[];
let kubeconfig: string;

beforeAll(async () => {
	await kubectlDone(["create", "namespace", namespace]);
	const objects = await render(
		`--values=${examples.get("try-out")}`,
		`--namespace=${namespace}`,
	);
	const setup = objects.filter(({ metadata }) =>
		metadata.name.startsWith("tidemill-setup"),
	);
	await kubectlDone(
		["apply", "--filename=-"],
		setup
			.filter(({ kind }) => kind !== "Job")
			.map((object) => stringify(object))
			.join("---\n"),
	);
	job = setup.find(({ kind }) => kind === "Job") as Rendered;
	args = job.spec.template.spec.containers[0].args;
	const token = await kubectlDone([
		...["create", "token", "tidemill-setup", `--namespace=${namespace}`],
	]);
	kubeconfig = await kubeconfigOf(token.trim());
});

test("it creates the release's Secrets once, and tells no value", async () => {
	const output = await setup();
	const first = await secrets();
	expect([...first.keys()].sort()).toEqual([
		"tidemill-console-key",
		"tidemill-nats-passwords",
		"tidemill-nats-tls",
		"tidemill-nats-tls-authority",
		"tidemill-s3",
		"tidemill-seal-key",
	]);
	const values = [...first.values()].flatMap(({ data }) =>
		Object.values(data).map((text) => Buffer.from(text, "base64").toString()),
	);
	for (const value of values) expect(output).not.toContain(value.trim());
	await setup();
	expect(await secrets()).toEqual(first);
});

test("what a killed Helm leaves of it goes by itself, as the docs say when", async () => {
	const { activeDeadlineSeconds, ttlSecondsAfterFinished } = job.spec as {
		activeDeadlineSeconds?: number;
		ttlSecondsAfterFinished?: number;
	};
	const docs = await readFile(
		join(import.meta.dirname, "../../docs/reference/installation.md"),
		"utf8",
	);
	expect(ttlSecondsAfterFinished).toBe(60);
	const minutes = (activeDeadlineSeconds! + ttlSecondsAfterFinished!) / 60;
	expect(docs).toContain(`can't start, ${minutes} minutes after it was made`);
	expect(docs).toContain(
		`--selector=app.kubernetes.io/component=${job.metadata.labels?.["app.kubernetes.io/component"]}`,
	);
});

test("it puts back what is missing, and leaves the rest alone", async () => {
	await setup();
	const before = (await secrets()).get("tidemill-nats-passwords")!.data;
	await kubectlDone([
		...["patch", "secret", "tidemill-nats-passwords", "--type=json"],
		...[`--namespace=${namespace}`],
		`--patch=${JSON.stringify([{ op: "remove", path: "/data/api" }])}`,
	]);
	await setup();
	const after = (await secrets()).get("tidemill-nats-passwords")!.data;
	expect(after).toEqual({ ...before, api: expect.any(String) });
	expect(after.api).not.toBe(before.api);
});

test("two at once agree", async () => {
	await kubectlDone([
		...["delete", "secret", "--all", `--namespace=${namespace}`],
	]);
	await Promise.all([setup(), setup()]);
	const { data } = (await secrets()).get("tidemill-nats-tls")!;
	const authority = (await secrets()).get("tidemill-nats-tls-authority")!;
	expect(data["ca.crt"]).toBe(authority.data["tls.crt"]);
});

test("a rotation that is killed goes on where it was, and two at once are one", async () => {
	await setup();
	const name = "tidemill-nats-passwords";
	const before = (await secrets()).get(name)!.data;
	const rotate = (settle: number) =>
		startTidemill(
			[
				...["setup", "rotate", "nats-passwords", `--settle=${settle}`],
				`--namespace=${namespace}`,
			],
			{ KUBECONFIG: inject("kubeconfig") },
		);
	const killed = rotate(600);
	await new Promise<void>((resolve) => {
		killed.onLine = (line) => {
			if (line.startsWith("waiting")) resolve();
		};
	});
	killed.child.kill("SIGKILL");
	await killed.ended;
	const between = (await secrets()).get(name)!.data;
	expect(between.receive).toBe(before.receive);
	expect(between["receive-b"]).not.toBe(before["receive-b"]);
	const outputs: string[] = [];
	for (const { ended } of [rotate(1), rotate(1)]) {
		const { exitCode, stdout, stderr } = await ended;
		expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
		outputs.push(stdout);
		for (const value of Object.values((await secrets()).get(name)!.data))
			expect(stdout).not.toContain(Buffer.from(value, "base64").toString());
	}
	const after = (await secrets()).get(name)!.data;
	expect(after["receive-b"]).toBe(between["receive-b"]);
	expect(after.receive).not.toBe(before.receive);
	expect(outputs.join().match(/step \d of 2/g)).toEqual(["step 2 of 2"]);
});

async function setup(): Promise<string> {
	const { exitCode, stdout, stderr } = await startTidemill(args, {
		KUBECONFIG: kubeconfig,
	}).ended;
	expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
	return stdout + stderr;
}

interface StoredSecret {
	metadata: { name: string; resourceVersion: string };
	data: Record<string, string>;
}

async function secrets(): Promise<Map<string, StoredSecret>> {
	const text = await kubectlDone([
		...["get", "secrets", `--namespace=${namespace}`, "--output=json"],
	]);
	const { items } = JSON.parse(text) as { items: StoredSecret[] };
	return new Map(items.map((secret) => [secret.metadata.name, secret]));
}

/** The administrator's, with this token in place of the certificate. */
async function kubeconfigOf(token: string): Promise<string> {
	const admin = await kubectlDone([
		...["config", "view", "--raw", `--kubeconfig=${inject("kubeconfig")}`],
	]);
	const config = parse(admin);
	config.users[0].user = { token };
	const file = join(await mkdtemp(join(tmpdir(), "setup-")), "kubeconfig");
	await writeFile(file, stringify(config), { mode: 0o600 });
	return file;
}
