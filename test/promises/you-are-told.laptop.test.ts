import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { Source } from "../../crds/generated/types.ts";
import { locateHome, readState } from "../../local/machine/home.ts";
import type { LocalPorts } from "../../local/machine/ports.ts";
import {
	signingKey,
	startWebhookReceiver,
} from "../support/fixtures/notifications/webhook-receiver.ts";
import { sendJSON, untilKnown } from "../support/senders/http-client.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";
import { startPostgres } from "../support/servers/postgres.ts";

/* README: "You are told." What works, what doesn't, why, and what to do, by kubectl alone. */

const conditionsPage = readFileSync(
	join(import.meta.dirname, "../../docs/reference/conditions.md"),
	"utf8",
);
const cancel = '--patch={"spec":{"cancel":true}}';
const soon = { timeout: 120_000, interval: 200 };

let local: LocalMode;
let quickstart: Quickstart;

beforeAll(async () => {
	local = await openLocalMode("told");
	quickstart = await applyQuickstart(local);
});

const kubectl = (...args: string[]) => local.run("kubectl", ...args);

const apply = (yaml: string) =>
	local.run("sh", "-c", 'printf "%s" "$0" | kubectl apply -f -', yaml);

/** Waits until `kubectl describe` has this reason, which the page of conditions must explain. Returns its text. */
function describes(resource: string, reason: string): Promise<string> {
	expect(conditionsPage).toContain(`\`${reason}\``);
	return vi.waitFor(async () => {
		const text = await kubectl("describe", resource);
		expect(text).toContain(reason);
		return text;
	}, soon);
}

/** Makes the Secret of the webhook that is told. */
const tellAt = (url: string) =>
	kubectl(
		...["create", "secret", "generic", "tidemill-notifications"],
		`--from-literal=url=${url}`,
		`--from-literal=signingSecret=whsec_${signingKey}`,
	);

const label = () =>
	kubectl(
		...["label", "secret", "tidemill-notifications", "tidemill.dev/use=true"],
	);

const becomesReady = (resource: string) =>
	kubectl("wait", "--for=condition=Ready", resource, "--timeout=120s");

test("kubectl get shows what works: a Source, a Destination, a Pipeline, and its last Run", async () => {
	await quickstart.runPipeline();
	await vi.waitFor(
		async () =>
			expect(await kubectl("get", "sources,destinations,pipelines")).toMatch(
				/shop +Active +True.*warehouse +DuckDB +True +Verified.*orders +Ready +Resolved +shop +warehouse +orders +Succeeded/s,
			),
		soon,
	);
});

test("a Pipeline without its Source says which one, and is Ready once it is there", async () => {
	await apply(
		"{ apiVersion: tidemill.dev/v1alpha1, kind: Pipeline, metadata: { name: later }, spec: { sourceRef: { name: missing }, destinationRef: { name: warehouse } } }",
	);
	expect(await describes("pipeline/later", "SourceNotFound")).toContain(
		'"missing"',
	);
	await apply(
		"{ apiVersion: tidemill.dev/v1alpha1, kind: Source, metadata: { name: missing }, spec: { type: Webhook } }",
	);
	await becomesReady("pipeline/later");
});

test("a Source whose Secret lacks the label says the command that mends it, and the command does", async () => {
	await apply(
		"{ apiVersion: tidemill.dev/v1alpha1, kind: Source, metadata: { name: guarded }, spec: { type: Webhook, webhook: { authorization: { type: CustomToken, customToken: { secretRef: { name: token, key: value } } } } } }",
	);
	await describes("source/guarded", "SecretNotFound");
	await kubectl(
		"create",
		"secret",
		"generic",
		"token",
		"--from-literal=value=sixteen-characters-at-least",
	);
	const text = await describes("source/guarded", "SecretNotLabelled");
	const [command] =
		/kubectl label secret \S+ \S+=true -n [-a-z0-9]+/.exec(
			text.replaceAll(/\s+/g, " "),
		) ?? [];
	expect(command, text).toBeDefined();
	await local.run("sh", "-c", command!);
	await becomesReady("source/guarded");
});

test("a deleted Source names the Run that it waits for, and is gone once that is cancelled", async () => {
	await apply(`
apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: leaving }
spec: { type: Webhook, deletionPolicy: Delete }
---
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: leaving }
spec: { sourceRef: { name: leaving }, destinationRef: { name: warehouse } }
`);
	await becomesReady("pipeline/leaving");
	const { metadata, status } = await local.resource<Source>(
		"get",
		"source/leaving",
	);
	await untilKnown(status!.webhookURL!);
	await vi.waitFor(
		async () =>
			expect((await sendJSON(status!.webhookURL!, "{}")).status).toBe(200),
		soon,
	);
	const file = `warehouse/${metadata.namespace}/warehouse.duckdb`;
	// While another process reads the file, a load waits.
	const reader = await DuckDBInstance.create(join(local.home, file), {
		access_mode: "READ_ONLY",
	});
	onTestFinished(() => reader.closeSync());
	await apply(
		"{ apiVersion: tidemill.dev/v1alpha1, kind: Run, metadata: { name: holding }, spec: { pipelineRef: { name: leaving } } }",
	);
	const isRunning = "--for=jsonpath={.status.phase}=Running";
	await kubectl("wait", isRunning, "run/holding", "--timeout=120s");
	await kubectl("delete", "source/leaving", "--wait=false");
	expect(await describes("source/leaving", "DeletionWaitsForRun")).toContain(
		"holding",
	);
	await kubectl("patch", "run/holding", "--type=merge", cancel);
	await kubectl("wait", "--for=delete", "source/leaving", "--timeout=120s");
});

test("a Pipeline says why its last Run failed", async () => {
	const manifest =
		'{ apiVersion: tidemill.dev/v1alpha1, kind: Run, metadata: { name: too-old }, spec: { pipelineRef: { name: orders }, dates: { start: "2020-01-01", end: "2020-01-02" } } }';
	await apply(manifest);
	expect(await quickstart.endOf("too-old")).toMatchObject({ phase: "Failed" });
	expect(await kubectl("describe", "run/too-old")).toContain(
		"DatesNotRetained",
	);
	await vi.waitFor(
		async () =>
			expect(await kubectl("describe", "pipeline/orders")).toContain("too-old"),
		soon,
	);
});

test("a Pipeline says why its table and its Source or its values don't fit, with the ways out", async () => {
	const pipeline = (spec: string) =>
		apply(
			`{ apiVersion: tidemill.dev/v1alpha1, kind: Pipeline, metadata: { name: fitting }, spec: { destinationRef: { name: warehouse }, ${spec} } }`,
		);
	const loaded = async (run: string) => {
		await apply(
			`{ apiVersion: tidemill.dev/v1alpha1, kind: Run, metadata: { name: ${run} }, spec: { pipelineRef: { name: fitting } } }`,
		);
		expect(await quickstart.endOf(run)).toMatchObject({ phase: "Succeeded" });
	};
	const rows = () =>
		quickstart.query<object>("select total from fitting order by all");
	await sendJSON(quickstart.webhookURL, '{"total":"many"}');
	const total =
		"bodyColumns: [{ name: total, bodyPointer: /total, type: Integer }]";
	await pipeline(`sourceRef: { name: shop }, table: { ${total} }`);
	await becomesReady("pipeline/fitting");
	await loaded("fitting-first");
	expect(await describes("pipeline/fitting", "Unfit")).toMatch(
		/1 of 1 values of column "total" \(100 %\) don't fit its type, such as that of event \S+/,
	);
	expect(await kubectl("get", "pipeline/fitting")).toMatch(
		/VALUES FIT.*\n.* False /,
	);
	expect(await rows()).toContainEqual({ total: null });
	// As the sender says it now.
	await pipeline(
		`sourceRef: { name: shop }, table: { ${total.replace("Integer", "String")}, onIncompatible: Rebuild }`,
	);
	await becomesReady("pipeline/fitting");
	await loaded("fitting-second");
	await vi.waitFor(
		async () =>
			expect(await kubectl("get", "pipeline/fitting")).toMatch(/\n.* True /),
		soon,
	);
	expect(await rows()).toContainEqual({ total: "many" });

	await apply(
		"{ apiVersion: tidemill.dev/v1alpha1, kind: Source, metadata: { name: other }, spec: { type: Webhook } }",
	);
	await becomesReady("source/other");
	const text = total.replace("Integer", "String");
	await pipeline(
		`sourceRef: { name: other }, table: { ${text}, onIncompatible: Fail }`,
	);
	expect(await describes("pipeline/fitting", "TableIncompatible")).toContain(
		"spec.table.onIncompatible: Rebuild",
	);
	await pipeline(
		`sourceRef: { name: other }, table: { ${text}, onIncompatible: Rebuild }`,
	);
	await becomesReady("pipeline/fitting");
	await loaded("fitting-third");
	expect(await rows()).toEqual([]);
});

test("a Run says what refuses a row, and nothing of the row, to whoever may see Runs and not events", async () => {
	const server = await startPostgres();
	onTestFinished(() => server.stop());
	const { port, user, password } = server;
	await kubectl(
		...["create", "secret", "generic", "postgres"],
		...[
			`--from-literal=username=${user}`,
			`--from-literal=password=${password}`,
		],
	);
	await kubectl("label", "secret", "postgres", "tidemill.dev/use=true");
	await kubectl(
		...["annotate", "secret", "postgres"],
		`tidemill.dev/hosts=postgres+disable://127.0.0.1:${port}`,
	);
	await apply(`
apiVersion: tidemill.dev/v1alpha1
kind: Destination
metadata: { name: guest }
spec:
  type: Postgres
  postgres: { host: 127.0.0.1, port: ${port}, database: postgres, schema: public, sslMode: disable, credentials: { secretRef: { name: postgres } } }
---
apiVersion: tidemill.dev/v1alpha1
kind: Pipeline
metadata: { name: guest }
spec: { sourceRef: { name: shop }, destinationRef: { name: guest } }
`);
	await becomesReady("pipeline/guest");
	const run = async (name: string) => {
		await apply(
			`{ apiVersion: tidemill.dev/v1alpha1, kind: Run, metadata: { name: ${name} }, spec: { pipelineRef: { name: guest } } }`,
		);
		return quickstart.endOf(name);
	};
	expect(await run("guest-first")).toMatchObject({ phase: "Succeeded" });
	const mark = "MARKED-41c5";
	await server.rows(
		`ALTER TABLE guest ADD CONSTRAINT without_mail CHECK (body NOT LIKE '%${mark}%')`,
	);
	const told = await startWebhookReceiver();
	onTestFinished(told.close);
	await tellAt(told.url);
	await label();
	onTestFinished(
		async () =>
			void (await kubectl("delete", "secret", "tidemill-notifications")),
	);
	await describes("pipeline/guest", "NothingToTell");
	const { json } = await sendJSON(quickstart.webhookURL, `{"email":"${mark}"}`);
	const id: string = json.event_id;
	const refused = await run("guest-refused");
	await vi.waitFor(() => expect(told.calls).toHaveLength(1), soon);
	expect(refused.error).toMatchObject({
		code: "RowsRefused",
		message: expect.stringMatching(
			/refuses rows by constraint "without_mail" in table "guest_p\d+" \(SQLSTATE 23514\)\. .*Then start a new Run\./,
		),
	});
	await vi.waitFor(
		async () =>
			expect(await kubectl("describe", "pipeline/guest")).toContain(
				"RowsRefused",
			),
		soon,
	);
	await kubectl("create", "serviceaccount", "onlooker");
	await kubectl(
		...["create", "rolebinding", "onlooker"],
		...["--clusterrole=tidemill-viewer", "--serviceaccount=told:onlooker"],
	);
	const token = (await kubectl("create", "token", "onlooker")).trim();
	const url = await local.run("sh", "-c", "printf $TIDEMILL_API_URL");
	const asked = async (path: string) => {
		const response = await fetch(url + path, {
			headers: { authorization: `Bearer ${token}` },
		});
		return response.text();
	};
	const { logs, ports, s3 } = locateHome({ TIDEMILL_HOME: local.home });
	const { receiveHealth, archiveHealth, operatorHealth, apiHealth } =
		readState<LocalPorts>(ports)!;
	const metrics = () =>
		Promise.all(
			[receiveHealth, archiveHealth, operatorHealth, apiHealth].map(
				async (port) =>
					(await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
			),
		);
	/** The texts of the files below a folder. */
	const textsIn = async (folder: string, isMeant = (_path: string) => true) => {
		const found = await readdir(folder, {
			recursive: true,
			withFileTypes: true,
		});
		return Promise.all(
			found
				.filter((file) => file.isFile())
				.map(({ parentPath, name }) => join(parentPath, name))
				.filter(isMeant)
				.map((path) => readFile(path, "utf8")),
		);
	};
	// What the bucket has of Runs: their manifests, results and logs.
	const stored = await textsIn(s3, (path) => path.includes("/runs/"));
	expect(stored.join()).toContain("without_mail");
	const texts = [
		await kubectl("get", "runs,pipelines,jobs,pods,events", "-o", "yaml"),
		await kubectl("describe", "run/guest-refused", "pipeline/guest"),
		await asked("/runs/guest-refused"),
		await asked("/runs/guest-refused/logs"),
		await asked("/pipelines/guest"),
		JSON.stringify(told.calls.map(({ payload }) => payload)),
		await asked(`/events/${id}`),
		...(await metrics()),
		String(await server.rows("SELECT l::text FROM _tidemill_loads l")),
		...stored,
		...(await textsIn(logs)),
	];
	for (const text of texts.slice(0, 6)) expect(text).toContain("without_mail");
	expect(texts[6]).toContain(id);
	expect(texts[7]).toMatch(/^# TYPE tidemill_/m);
	for (const text of texts) expect(text).not.toContain(mark);
});

test("a webhook is told of a Run that failed and of the one that succeeds after it", async () => {
	const { url, calls, close } = await startWebhookReceiver();
	onTestFinished(close);
	await tellAt(url);
	await describes("pipeline/orders", "SecretNotLabelled");
	await label();
	await describes("pipeline/orders", "NothingToTell");
	await apply(
		'{ apiVersion: tidemill.dev/v1alpha1, kind: Run, metadata: { name: much-too-old }, spec: { pipelineRef: { name: orders }, dates: { start: "2020-01-01", end: "2020-01-02" } } }',
	);
	const types = () => calls.map(({ payload }) => payload.type);
	await vi.waitFor(() => expect(types()).toEqual(["run.failed"]), soon);
	expect(calls[0]!.payload.data).toMatchObject({
		kind: "Pipeline",
		name: "orders",
		run: "much-too-old",
		message: expect.stringContaining("DatesNotRetained"),
	});
	await quickstart.runPipeline();
	await vi.waitFor(
		() => expect(types()).toEqual(["run.failed", "run.recovered"]),
		soon,
	);
	await vi.waitFor(async () => {
		const text = await kubectl("describe", "pipeline/orders");
		expect(text).toMatch(/delivered \(msg_\S+_recovered\)/);
	}, soon);
});
