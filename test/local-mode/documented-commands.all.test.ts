// In make test: test/promises/you-are-told.laptop.test.ts
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { addDays, utcDate } from "../../packages/contracts/utc-date.ts";
import { Session } from "../../packages/duckdb/session.ts";
import { parseBindings } from "../../packages/warehouses/definition/binding.ts";
import { documented, type Piece } from "../support/examples/documented.ts";
import { sendJSON } from "../support/senders/http-client.ts";
import { applyQuickstart } from "../support/senders/quickstart.ts";
import { startClickHouse } from "../support/servers/clickhouse/server.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";
import { hasPython } from "../support/servers/python.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";
import { hasPostgres } from "./setup.ts";

/* Commands of pages that stand apart from the walk along the "next" links, each word for word. */

const account = "documented";
const hasPython3 = await hasPython();
const root = join(import.meta.dirname, "../..");
let local: LocalMode;
let folder: string;

beforeAll(async () => {
	local = await openLocalMode(account);
	folder = await temporaryDirectory("documented-commands");
	const quickstart = await applyQuickstart(local);
	await sendJSON(quickstart.webhookURL, '{"type": "order.paid", "order": 1}');
	await quickstart.runPipeline();
	await shell(
		"kubectl create secret generic analytics --from-literal=password=x",
	);
});

/** In a folder of somebody's own. */
function shell(script: string): Promise<string> {
	return local.run(
		"bash",
		"-euo",
		"pipefail",
		"-c",
		`cd "$0"\n${script}`,
		folder,
	);
}

/** Runs pieces one after the other. @param filled what a person puts in the place of names. */
function run(pieces: Piece[], filled: Record<string, string> = {}) {
	const text = pieces.map(({ text }) => text).join("");
	const own = Object.entries(filled).reduce(
		(script, [name, value]) => script.replaceAll(name, value),
		text,
	);
	return shell(own);
}

interface Labelled {
	metadata: {
		name: string;
		labels?: Record<string, string>;
		annotations?: Record<string, string>;
	};
}

test("the commands for Secrets and ConfigMaps leave them as the resources that name them need them", async () => {
	await writeFile(join(folder, "ca.crt"), "a certificate");
	await mkdir(join(folder, "schemas"));
	await writeFile(join(folder, "schemas/common.json"), "{}");
	await run(documented("docs/clickhouse.md#set-it-up sh"));
	await run(documented("docs/postgres.md#set-it-up sh"));
	await run(
		documented(
			"docs/notifications.md#tell-a-channel-of-every-failed-run-of-a-namespace sh",
		),
		{ "pipeline daily": "pipeline orders" },
	);
	await run(documented("docs/tracking-plans.md#schemas sh"));
	const { items } = await local.resource<{ items: Labelled[] }>(
		"get",
		"secrets,configmaps",
		"--selector=tidemill.dev/use=true",
	);
	const bound = items.map(({ metadata: { name, annotations } }) => {
		const hosts = annotations?.["tidemill.dev/hosts"];
		return [name, hosts && Array.isArray(parseBindings(hosts))];
	});
	expect(Object.fromEntries(bound)).toEqual({
		clickhouse: true,
		"clickhouse-ca": undefined,
		postgres: true,
		"tidemill-notifications": undefined,
		schemas: undefined,
	});
	// A failed Run would call Slack.
	await shell("kubectl delete secret tidemill-notifications");
	await run(documented("docs/security.md#where-a-credential-may-go sh"));
	await run(
		documented("docs/upgrade.md#secrets-of-postgres-and-clickhouse sh"),
		{
			"<secret>": "clickhouse-ca",
			"<namespace>": account,
			"<HOST>": "db.example.com",
		},
	);
});

test("the commands for rights are taken by Kubernetes", async () => {
	await run(documented("docs/console.md#sign-in-at-your-provider sh"), {
		"--namespace shop": `--namespace ${account}`,
	});
	const bindings = await shell(
		"kubectl get rolebinding engineers -o jsonpath={.subjects[0].name}",
	);
	expect(bindings).toBe("oidc:engineers");
	const token = await run(
		documented("docs/reference/api.md#authentication sh"),
	);
	const answer = await shell(
		`curl -sS --fail-with-body -H "Authorization: Bearer ${token.trim()}" "$TIDEMILL_API_URL/runs"`,
	);
	expect(JSON.parse(answer)).toHaveProperty("items");
});

test("the command that looks for a busy shard shows each Source with its events", async () => {
	const shown = await run(
		documented("docs/high-availability.md#add-a-shard sh"),
	);
	expect(shown).toMatch(new RegExp(`^${account} +shop +0 +\\S+$`, "m"));
});

/** A token of somebody who may move events. */
const mover =
	"export TIDEMILL_API_TOKEN=$(tidemill tokens create mover --scope edit)\n";

test("files of other tools are imported, each by its command", async () => {
	const yesterday = addDays(utcDate(Date.now()), -1);
	const session = await Session.inMemory({}, new AbortController().signal);
	onTestFinished(() => session.close());
	const parquet = (name: string, rows: string) =>
		session.run(`COPY (${rows}) TO '${join(folder, name)}' (FORMAT parquet)`);
	await parquet("old.parquet", `SELECT '{"order": 7}' AS body`);
	await parquet(
		"local.parquet",
		`SELECT 8 AS "order", TIMESTAMP '${yesterday} 12:00:00' AS time`,
	);
	await writeFile(
		join(folder, "other-system.ndjson"),
		`{"order": 9, "body": "x", "time": "${yesterday}T12:00:00Z"}\n`,
	);
	await writeFile(
		join(folder, "rows-of-sql.ndjson"),
		`${JSON.stringify({ time: `${yesterday}T12:00:00Z`, body: '{"order":10}' })}\n`,
	);
	const [commands] = documented("docs/operations.md#import-events sh");
	// The page's date is soon one that isn't kept.
	const said = await shell(
		mover + commands!.text.replace("2026-10-31", yesterday),
	);
	expect(said).toBe("1 event added\n".repeat(4));
});

test("the REST API gives links for the files of an import", async () => {
	const [ask] = documented("docs/reference/operations.md#import sh");
	const sha256 = createHash("sha256").update("x").digest("hex");
	const answer = await shell(
		mover.replace("mover", "uploader") + ask!.text.replace("…", sha256),
	);
	expect(JSON.parse(answer)).toMatchObject({
		items: [{ url: expect.stringMatching(/^http/) }],
	});
});

test.skipIf(!hasPostgres)("tidemill sql says how to ask Postgres", async () => {
	await shell(`
		kubectl delete secret postgres --ignore-not-found
		kubectl get secret postgres --namespace default --output json | jq '{ apiVersion, kind, type, data, metadata: (.metadata | { name, labels, annotations }) }' | kubectl create -f -
		tidemill destinations create analytics --postgres "postgres://$PGHOST:$PGPORT/$PGDATABASE?sslmode=disable" --secret-ref postgres --wait`);
	expect(await run(documented("docs/postgres.md#query-it sh"))).toContain(
		"'--command=select count(*) from orders'",
	);
});

test("a claim for a file of DuckDB, and a Destination on it, are made by the page's commands", async () => {
	await run(documented("docs/duckdb.md#set-it-up sh"));
	await shell(
		"kubectl wait --for=condition=Ready destination/events --timeout=60s",
	);
});

test.skipIf(!hasPython3)(
	"ClickHouse is tried from a form to a query",
	async () => {
		const server = await startClickHouse();
		onTestFinished(() => server.stop());
		const { url, user, password } = server;
		// As a start with CLICKHOUSE=1 leaves it.
		const made = `
		kubectl delete secret clickhouse --ignore-not-found
		kubectl create secret generic clickhouse --type=kubernetes.io/basic-auth --from-literal=username=${user} --from-literal=password=${password}
		kubectl label secret clickhouse tidemill.dev/use=true
		kubectl annotate secret clickhouse tidemill.dev/hosts=${url}
		export CLICKHOUSE_URL=${url} CLICKHOUSE_USER=${user} CLICKHOUSE_PASSWORD=${password}
	`;
		const [tried] = documented("docs/clickhouse.md#try-it sh");
		const said = await shell(
			made +
				tried!.text
					.replace("source .tidemill/env\n", "")
					.replaceAll("@examples/", `@${root}/examples/`),
		);
		expect(said).toMatch(/^ada@example\.com\tHello$/m);
	},
);

test("Operations are made and read by the commands of their examples", async () => {
	await shell(`ln -s "${root}/examples/operations/"*.yaml .`);
	const [draft] = documented("examples/operations/draft.yaml");
	const [dryRun] = documented("examples/operations/dry-run.yaml");
	await run([dryRun!]);
	const name = "$(kubectl get operations -o name | grep draft | cut -d/ -f2)";
	await run([draft!], { "<name>": name });
	expect(await shell("cat plan.yaml")).toContain("kind: TrackingPlan");
});

test.each(
	documented(
		"docs/runbooks/Tidemill{DestinationUnbound,LedgerMismatch,NamespaceNotServed,PipelineLate,ResourcesNotReady,RestoreAwaited,RunFailed,TokenExpires,ValuesUnfit}.md sh",
	),
)("$page has commands that an account answers", async (piece) => {
	const names = await shell(
		"kubectl get runs -o jsonpath={.items[0].metadata.name}",
	);
	expect(
		await run([piece], {
			...{ "<account>": account, "<pipeline>": "orders", "<run>": names },
			...{ "<destination>": "warehouse", "<kind>": "source", "<name>": "shop" },
		}),
	).not.toBe("");
});
