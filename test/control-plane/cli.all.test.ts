// In make test: cli/bin/command-line.test.ts
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { json, text } from "node:stream/consumers";
import {
	afterAll,
	beforeAll,
	expect,
	inject,
	onTestFinished,
	test,
	vi,
} from "vitest";
import {
	type Operation,
	type OperationDryRun,
	operationKind,
	type Pipeline,
	pipelineKind,
	type Run,
	runKind,
	type Source,
	sourceKind,
} from "../../crds/generated/types.ts";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import type { ResourceKind } from "../../packages/kube/resource.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";
import {
	apiClient,
	newAccount,
	startApi,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { ApiserverProxy } from "../support/proxies/apiserver-proxy.ts";
import { programOf, project } from "../support/servers/role-server.ts";

const admin = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const bin = join(import.meta.dirname, "../../cli/bin");

let account: string;

beforeAll(async () => {
	({ account } = await newAccount());
	await admin.create<Pipeline>(pipelineKind, {
		metadata: { name: "orders", namespace: account },
		spec: { sourceRef: { name: "shop" }, destinationRef: { name: "d" } },
	} as Pipeline);
});

test("the list of sources has counts and webhook URLs", async () => {
	const empty = await tidemill("sources", "list");
	expect(empty.stderr).toBe(`There are no sources in namespace ${account}.\n`);
	await newSource("shop", "https://hooks.example/1/2");
	const { stdout, exitCode } = await tidemill("sources", "list");
	expect(exitCode).toBe(0);
	expect(stdout.split("\n")[0]).toMatch(
		/^NAME +PHASE +READY +REASON +EVENTS .* URL$/,
	);
	expect(stdout).toMatch(/^shop +Active .* https:\/\/hooks.example\/1\/2$/m);
});

test("kubectl runs it as a plugin", async () => {
	const { kubectl } = await resolveBinaries(["kubectl"]);
	const asPlugin = await run(kubectl, ["tidemill", "tokens"], {
		PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter),
	});
	expect(asPlugin.exitCode).toBe(2);
	expect(asPlugin.stderr).toContain("Usage: tidemill tokens");
});

const completionTime = "2026-01-02T00:00:00Z";

test("--wait follows a run to its end", async () => {
	const waiting = tidemill("pipelines", "run", "orders", "--wait", "--full");
	const name = await vi.waitFor(
		async () => {
			const { items } = await admin.list<Run>(runKind, { namespace: account });
			expect(items).toHaveLength(1);
			expect(items[0]!.spec.full).toBe(true);
			return items[0]!.metadata.name;
		},
		{ timeout: 120_000 },
	);
	await setStatus(name, {
		phase: "Succeeded",
		completionTime,
		rows: 1234,
		dates: { start: "2026-01-01", end: "2026-01-02" },
		unfitValues: [
			{ column: "total", rows: 617, values: 1234, eventID: "event-1" },
		],
	});
	const { exitCode, stdout, stderr } = await waiting;
	expect(stdout).toBe(`${name}\n`);
	const lines = stderr.trimEnd().split("\n");
	expect(lines.pop()).toBe(
		'617 of 1234 values of column "total" (50 %) don\'t fit its type, such as that of event event-1.',
	);
	expect(lines.pop()).toBe("Loaded 1,234 rows of 2026-01-01 to 2026-01-02.");
	const facts = lines.map((line) => JSON.parse(line));
	expect(facts.at(-1)).toMatchObject({
		...{ run: name, phase: "Succeeded", rows: 1234 },
		dates: { start: "2026-01-01", end: "2026-01-02" },
	});
	expect(exitCode).toBe(0);
	await admin.delete(runKind, name, account);
});

test("--wait follows a run to its end even if its log is unavailable and its connection breaks", async () => {
	const proxy = await ApiserverProxy.start(
		loadKubeConfig(inject("kubeconfig")),
	);
	onTestFinished(() => proxy.close());
	let refused = 0;
	proxy.onRequest = async ({ path }) => {
		if (!path.endsWith("/pods")) return;
		refused++;
		throw new Error("the connection breaks");
	};
	const kubeconfig = join(await passingDirectory("cli"), "kubeconfig");
	await writeFile(kubeconfig, proxy.kubeConfig.exportConfig());
	const waiting = tidemill(
		...["pipelines", "run", "orders", "--wait", "--kubeconfig", kubeconfig],
	);
	const watches = () =>
		proxy.requests.filter(
			({ query, status }) => query.has("watch") && status === 200,
		).length;
	await vi.waitUntil(() => refused > 1 && watches() === 1, {
		timeout: 120_000,
	});
	proxy.cut();
	await vi.waitUntil(() => watches() > 1, { timeout: 120_000 });
	const { items } = await admin.list(runKind, { namespace: account });
	const { name } = items[0]!.metadata;
	await setStatus(name, { phase: "Succeeded", completionTime, rows: 1 });
	expect(await waiting).toMatchObject({ exitCode: 0, stdout: `${name}\n` });
	await admin.delete(runKind, name, account);
});

test("a failed run prints the reason and sets the exit code", async () => {
	const waiting = tidemill(
		...["pipelines", "run", "orders", "--wait"],
		...["--from", "2026-01-01", "--to", "2026-01-02"],
	);
	const name = await vi.waitFor(
		async () => {
			const { items } = await admin.list<Run>(runKind, { namespace: account });
			expect(items[0]?.spec.dates).toEqual({
				start: "2026-01-01",
				end: "2026-01-02",
			});
			return items[0]!.metadata.name;
		},
		{ timeout: 120_000 },
	);
	const error = { code: "DestinationBusy", message: "busy", retryable: true };
	await setStatus(name, { phase: "Failed", completionTime, error });
	const { exitCode, stderr } = await waiting;
	expect(stderr).toContain(`${name} failed: busy (DestinationBusy)`);
	expect(exitCode).toBe(1);
});

test("an event reaches its source, with its token", async () => {
	const received: unknown[] = [];
	const receiver = createServer(async (request, response) => {
		received.push(request.headers.authorization, await json(request));
		response.end('{"is_success":true,"event_id":"0190"}');
	});
	await new Promise<void>((resolve) =>
		receiver.listen(0, "127.0.0.1", resolve),
	);
	afterAll(() => receiver.close());
	const { port } = receiver.address() as AddressInfo;
	await newSource("local", `http://127.0.0.1:${port}/hooks/1/2`);
	const sent = await tidemill(
		...["events", "send", "local", "--data", '{"a":1}', "--token", "t"],
	);
	expect(sent).toEqual({ exitCode: 0, stdout: "0190\n", stderr: "" });
	expect(received).toEqual(["Bearer t", { a: 1 }]);
});

test.each([{ options: [] }, { options: ["--long-lived"] }])(
	"a token works for the REST API, with the rights of its role only: $options",
	async ({ options }) => {
		const name = `machine${options.length}`;
		const { stdout, exitCode } = await tidemill(
			...["tokens", "create", name, "--scope", "run", ...options],
		);
		expect(exitCode).toBe(0);
		const { api, url } = await startApi();
		const ask = apiClient(url, stdout.trim());
		// The apiserver applies a binding a moment after its creation.
		await vi.waitFor(
			async () => expect((await ask("GET", "/v1/runs")).status).toBe(200),
			{ timeout: 120_000 },
		);
		expect((await ask("GET", "/v1/sources")).status).toBe(403);
		await api.close();

		const listed = await tidemill("tokens", "list", "--output", "json");
		expect(JSON.parse(listed.stdout)).toContainEqual(
			expect.objectContaining({ name, scope: "run", status: "Active" }),
		);
		const again = await tidemill("tokens", "create", name, "--scope", "edit");
		expect([again.exitCode, again.stdout]).toEqual([1, ""]);
		expect(again.stderr).toContain(`There already is a token "${name}"`);
		const revoked = await tidemill("tokens", "revoke", name);
		expect(revoked.stdout).toBe(`token/${name} revoked\n`);
		const { stdout: left } = await tidemill("tokens", "ls", "-o", "name");
		expect(left).not.toContain(name);
		const late = await tidemill("tokens", "revoke", name);
		expect(late.exitCode).toBe(1);
		expect(late.stderr).toContain(`there is no token "${name}"`);
	},
);

test.each([
	[["pipelines", "run", "none"], 1, 'there is no pipeline "none"'],
	[["events", "send", "none", "--data", "{}"], 1, 'there is no source "none"'],
	[["sources", "list", "--kubeconfig", "/none"], 1, "there is no such file"],
	[["quarantine", "list", "none"], 1, 'there is no source "none"'],
	[
		["quarantine", "inspect", "shop", "--limit", "101"],
		2,
		'--limit is "101", but must be a number from 1 to 100',
	],
	[
		["quarantine", "release", "shop", "--days", "0"],
		2,
		'--days is "0", but must be a number from 1',
	],
	[["operations", "cancel", "none"], 1, 'there is no operation "none"'],
	[
		["tracking-plans", "dry-run", "shop"],
		2,
		"pass the plan with either --plan or --file",
	],
	[
		["tracking-plans", "dry-run", "shop", "--file", "/none.yaml"],
		1,
		"cannot read /none.yaml",
	],
])("%j reports what is wrong", async (args, code, message) => {
	const { exitCode, stderr } = await tidemill(...args);
	expect(stderr).toContain(message);
	expect(exitCode).toBe(code);
});

/** Starts a command that makes an Operation of the source, ends it as the operator would, and returns what the command did. */
async function operate(
	source: string,
	args: string[],
	status: Operation["status"],
) {
	await newSource(source, "https://hooks.example/1/2");
	const running = tidemill(...args);
	const { metadata, spec } = await vi.waitFor(
		async () => {
			const { items } = await admin.list<Operation>(operationKind, {
				namespace: account,
				fieldSelector: `spec.sourceRef.name=${source}`,
			});
			expect(items).toHaveLength(1);
			return items[0]!;
		},
		{ timeout: 120_000 },
	);
	await setStatusOf(operationKind, metadata.name, {
		completionTime,
		...status,
	});
	return { name: metadata.name, spec, ...(await running) };
}

const dryRunOf = (counts: Partial<OperationDryRun>): Operation["status"] => ({
	phase: "Succeeded",
	summary: "3 events: as told",
	dryRun: {
		events: 3,
		planned: 1,
		annotated: 0,
		quarantined: 0,
		rejected: 0,
		findings: [],
		...counts,
	},
});

test.each([
	["passes", { annotated: 2 }, 0],
	["quarantines", { quarantined: 2 }, 3],
	["rejects", { rejected: 2 }, 3],
])(
	"a dry run of a plan that %s events exits as CI needs it",
	async (what, counts, code) => {
		const finding = {
			...{ type: "paid", kind: "TypeMismatch", path: "/total", events: 2 },
			...{ message: "must be number", example: "e1" },
		};
		const { exitCode, stdout, spec } = await operate(
			`dry-${what}`,
			["tracking-plans", "dry-run", `dry-${what}`, "--plan", "orders"],
			dryRunOf({ ...counts, findings: [finding] }),
		);
		expect(spec).toMatchObject({ type: "DryRun", plan: { name: "orders" } });
		expect(stdout).toMatch(
			/^3 events: as told\n\nEVENTS +TYPE +FINDING +PATH +PROBLEM +EXAMPLE\n2 +paid +TypeMismatch +\/total +must be number +e1\n$/,
		);
		expect(exitCode).toBe(code);
	},
);

test("a dry run that fails, or is cancelled, exits with 1 and says why", async () => {
	const args = (source: string) => [
		...["tracking-plans", "dry-run", source, "--plan", "orders"],
	];
	const error = { code: "PlanInvalid", message: "bad", retryable: false };
	const failed = await operate("dry-fails", args("dry-fails"), {
		phase: "Failed",
		error,
	});
	expect(failed.stderr).toContain(`${failed.name} failed: bad (PlanInvalid)`);
	expect(failed.exitCode).toBe(1);
	const status = { phase: "Cancelled" } as const;
	const ended = await operate("dry-ends", args("dry-ends"), status);
	expect(ended.stderr).toContain(`${ended.name} was cancelled.`);
	expect(ended.exitCode).toBe(1);
});

test("quarantine list shows the source's counts by type and kind", async () => {
	await newSource("counts", "https://hooks.example/1/2");
	const none = await tidemill("quarantine", "list", "counts");
	expect(none).toEqual({
		exitCode: 0,
		stdout: "",
		stderr: 'No event of source "counts" deviates from a tracking plan.\n',
	});
	const lastEventTime = completionTime;
	const counts = { quarantined: 12, annotated: 0, lastEventTime };
	await setStatusOf(sourceKind, "counts", {
		deviations: [{ type: "paid", kind: "TypeMismatch", ...counts }],
		otherDeviations: { quarantined: 1, annotated: 2, lastEventTime },
	});
	const { exitCode, stdout } = await tidemill("quarantine", "list", "counts");
	expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
		["TYPE", "KIND", "QUARANTINED", "ANNOTATED"],
		["paid", "TypeMismatch", "12", "0"],
		["", "(others)", "1", "2"],
		[""],
	]);
	expect(exitCode).toBe(0);
});

test("quarantine inspect shows each event with its violations, and how to see more", async () => {
	const path = "/total";
	const { spec, exitCode, stdout, stderr } = await operate(
		"held",
		[
			...["quarantine", "inspect", "held", "--type", "paid", "--limit", "1"],
			...["--kind", "TypeMismatch", "--before", "e9", "--days", "1"],
		],
		{
			phase: "Succeeded",
			summary: "7 events in quarantine, 1 listed",
			inspect: {
				events: 7,
				page: [
					{
						eventID: "e8",
						timestamp: completionTime,
						type: "paid",
						violations: [
							{ kind: "TypeMismatch", path, message: "must be number" },
							{ kind: "OutOfRange", path, message: "must be >= 0" },
						],
						otherViolations: 4,
					},
				],
				hasMore: true,
			},
		},
	);
	expect(spec).toMatchObject({
		type: "Inspect",
		filter: { types: ["paid"], kinds: ["TypeMismatch"] },
		limit: 1,
		before: "e9",
	});
	expect(spec.dates?.start).toBe(spec.dates?.end);
	expect(stdout.split("\n").map((line) => line.trim().split(/ {2,}/))).toEqual([
		["EVENT ID", "TIME", "TYPE", "KIND", "PATH", "PROBLEM"],
		["e8", completionTime, "paid", "TypeMismatch", path, "must be number"],
		["OutOfRange", path, "must be >= 0"],
		["(4 more)"],
		["The next page: --before e8"],
		[""],
	]);
	expect(stderr).toContain("7 events in quarantine, 1 listed\n");
	expect(exitCode).toBe(0);
});

test("quarantine release says what it released", async () => {
	const { spec, exitCode, stdout } = await operate(
		"freed",
		["quarantine", "release", "freed", "--event-id", "e1", "--event-id", "e2"],
		{ phase: "Succeeded", summary: "2 events of 1 date released" },
	);
	expect(spec).toMatchObject({
		type: "Release",
		filter: { eventIDs: ["e1", "e2"] },
	});
	expect(stdout).toBe("2 events of 1 date released\n");
	expect(exitCode).toBe(0);
});

test("operations cancel asks for the end, and list shows how each ended", async () => {
	const metadata = { name: "endless", namespace: account };
	const spec = { type: "Draft", sourceRef: { name: "shop" } };
	await admin.create<Operation>(operationKind, {
		metadata,
		spec: { ...spec, eventType: { constant: "a" } },
	} as Operation);
	const cancelled = await tidemill("operations", "cancel", "endless");
	expect(cancelled).toEqual({
		exitCode: 0,
		stdout: "operation/endless cancelled\n",
		stderr: "",
	});
	const found = await admin.get<Operation>(operationKind, "endless", account);
	expect(found?.spec.cancel).toBe(true);
	const phase = "Cancelled";
	await setStatusOf(operationKind, "endless", { phase, completionTime });
	const { exitCode, stdout } = await tidemill("operations", "list");
	expect(stdout).toMatch(/^NAME +TYPE +SOURCE +PHASE +SUMMARY +AGE\n/);
	expect(stdout).toMatch(/^endless +Draft +shop +Cancelled/m);
	expect(exitCode).toBe(0);
});

async function newSource(name: string, webhookURL: string): Promise<void> {
	const source = {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Source",
		metadata: { name, namespace: account },
		spec: { type: "Webhook" },
	} as Source;
	await admin.create<Source>(sourceKind, source);
	await setStatusOf(sourceKind, name, { phase: "Active", webhookURL });
}

function setStatus(name: string, status: Run["status"]) {
	return setStatusOf(runKind, name, status!);
}

function setStatusOf<T extends Operation | Run | Source>(
	kind: ResourceKind<T>,
	name: string,
	status: NonNullable<T["status"]>,
) {
	return admin.applyStatus<T>(
		kind,
		{ metadata: { name, namespace: account }, status },
		{ fieldManager: "test" },
	);
}

function tidemill(...args: string[]) {
	const program = [programOf(project), ...args, "--namespace", account];
	return run(process.execPath, program);
}

async function run(
	command: string,
	args: string[],
	env: Record<string, string> = {},
) {
	const child = spawn(command, args, {
		env: { ...process.env, KUBECONFIG: inject("kubeconfig"), ...env },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const [stdout, stderr, exitCode] = await Promise.all([
		text(child.stdout),
		text(child.stderr),
		new Promise<number | null>((resolve) => child.once("close", resolve)),
	]);
	return { exitCode, stdout, stderr };
}
