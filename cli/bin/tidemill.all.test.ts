// In make test: cli/bin/command-line.test.ts
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";

const program = join(import.meta.dirname, "tidemill.ts");

function tidemill(...args: string[]) {
	return tidemillWith({}, ...args);
}

function tidemillWith(env: Record<string, string>, ...args: string[]) {
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[program, ...args],
		{ encoding: "utf8", env: { ...process.env, ...env } },
	);
	return { status, stdout, stderr };
}

test("help lists the commands", () => {
	const { status, stdout } = tidemill("help");
	expect(status).toBe(0);
	expect(stdout).toMatch(/^ {2}sources\|wsrc {2}/m);
});

test("a process explains itself and doesn't start", () => {
	const { status, stdout } = tidemill("operator", "--help");
	expect(status).toBe(0);
	expect(stdout).toContain("docs/reference/settings.md");
});

test.each(["receive", "api"])(
	"a wrong setting ends %s at once, even if it is read when the server already listens",
	(role) => {
		const { status, stderr } = tidemillWith(
			{
				NATS_URL: "tls://u:s3cret@h:1,nats://u:s3cret@h:2",
				RECEIVE_PORT: "0",
				API_PORT: "0",
				KUBERNETES_SERVICE_HOST: "127.0.0.1",
				KUBECONFIG: "",
			},
			role,
		);
		expect(stderr).toContain("NATS_URL has servers with nats:// and");
		expect(stderr).not.toContain("s3cret");
		expect(status).toBe(2);
	},
);

test("no command runs with the verification of certificates switched off", () => {
	const { status, stderr } = tidemillWith(
		{ NODE_TLS_REJECT_UNAUTHORIZED: "0" },
		"check",
	);
	expect(stderr).toContain('NODE_TLS_REJECT_UNAUTHORIZED is "0"');
	expect(status).toBe(2);
});

test.each(["help", "completion bash", "nonsense 2>&1"])(
	"a reader who has enough of %s ends it without a word",
	(command) => {
		const { stderr, status } = spawnSync(
			"bash",
			[
				"-c",
				`set -o pipefail; "$0" "$1" ${command} | true`,
				process.execPath,
				program,
			],
			{ encoding: "utf8" },
		);
		expect(stderr).toBe("");
		expect(status).toBe(command.startsWith("nonsense") ? 2 : 0);
	},
);

test("Ctrl-C says that the run goes on, and how to wait for it again", async () => {
	const run = {
		metadata: { name: "orders-1", namespace: "mine", resourceVersion: "1" },
		spec: { pipelineRef: { name: "orders" } },
	};
	const { args, asked } = await apiserver((request) =>
		request.includes("watch=true")
			? [200, ""]
			: [200, request.includes("/pods") ? { items: [] } : run],
	);
	const child = spawn(process.execPath, [
		program,
		...["pipelines", "run", "orders", "--wait", ...args],
	]);
	const said = text(child.stderr);
	const ended = once(child, "exit");
	await expect
		.poll(() => asked.some((line) => line.includes("watch=true")), {
			timeout: 60_000,
		})
		.toBe(true);
	child.kill("SIGINT");
	expect(await ended).toEqual([130, null]);
	expect(await said).toContain(
		"\nThe run orders-1 continues. Wait for it again: tidemill runs wait orders-1 -n mine\n",
	);
});

test.each([
	["Ctrl-C", "\u0003"],
	["Ctrl-D", "\u0004"],
])("%s at a question ends the command with 130 and a line", async (_, key) => {
	const folder = mkdtempSync(join(tmpdir(), "init-"));
	const command = `"${process.execPath}" "${program}" init`;
	const child = spawn("script", ["-qec", command, "/dev/null"], {
		cwd: folder,
	});
	let shown = "";
	let isAnswered = false;
	child.stdout.on("data", (data) => {
		shown += data;
		if (isAnswered || !/\? .*\[.+\] /.test(shown)) return;
		isAnswered = true;
		child.stdin.write(key);
	});
	expect(await once(child, "exit")).toEqual([130, null]);
	expect(shown).toMatch(/Stopped\.\s*$/);
	expect(readdirSync(folder)).toEqual([]);
});

test("init asks in a terminal, and writes what kubectl takes", async () => {
	const folder = mkdtempSync(join(tmpdir(), "init-"));
	const command = `"${process.execPath}" "${program}" init`;
	// It gives the command a terminal of its own.
	const child = spawn("script", ["-qec", command, "/dev/null"], {
		cwd: folder,
	});
	let shown = "";
	let asked = 0;
	child.stdout.on("data", (data) => {
		shown += data;
		const questions = shown.match(/\? .*\[.+\] /g)?.length ?? 0;
		for (; asked < questions; asked++) child.stdin.write("\r");
	});
	expect(await once(child, "exit")).toEqual([0, null]);
	expect(shown).toContain("tidemill.yaml written");
	expect(shown).toContain("kubectl apply -f tidemill.yaml");
	const written = readFileSync(join(folder, "tidemill.yaml"), "utf8");
	expect(written.match(/^kind: .*$/gm)).toEqual([
		"kind: TrackingPlan",
		"kind: Source",
		"kind: Destination",
		"kind: Pipeline",
	]);
	expect(tidemill("init").stderr).toContain("asks questions in a terminal");
});
