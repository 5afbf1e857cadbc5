import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { documentedText } from "../../support/examples/documented.ts";
import { withProgress } from "../../support/progress.ts";
import { startClickHouse } from "../../support/servers/clickhouse/server.ts";
import { startLocalMode } from "../../support/servers/local-mode.ts";
import { pythonEnvironment } from "../../support/servers/python.ts";
import { outputOf } from "../program.ts";
import { checkStrangersText } from "./strangers-text.ts";

/*
 * Part of `make test-ecosystem`: the commands of docs/dbt.md with the real dbt, against tables that a whole local Tidemill has
 * loaded into a DuckDB file, into Postgres and into ClickHouse.
 */
// dbt-core 1.12 has a part that its package downloads from GitHub.
const packages = [
	"dbt-core==1.11.16",
	"dbt-duckdb==1.11.1",
	"dbt-postgres==1.11.0",
	"dbt-clickhouse==1.10.3",
];
const root = join(import.meta.dirname, "../../..");
const scratch = await mkdtemp(join(tmpdir(), "tidemill-dbt-"));
const bin = await pythonEnvironment(
	packages.join("_").replaceAll("==", "-"),
	packages,
);
const failures: string[] = [];
await attempt("text of strangers", () => checkStrangersText(bin, scratch));
const local = await withProgress(
	"a local Tidemill with Postgres",
	startLocalMode({ POSTGRES: "1" }),
);
const clickHouse = await withProgress("ClickHouse", startClickHouse());
try {
	await clickHouse.rows("CREATE DATABASE analytics");
	await shell(`cp -r examples/dbt "$SCRATCH/dbt"
		kubectl apply -f examples/quickstart/ -f examples/postgres/form.yaml
		kubectl patch pipeline orders --type=merge -p '{"spec": {"schedule": {"type": "Interval", "interval": "15m"}}}'
		kubectl create secret generic clickhouse --type=kubernetes.io/basic-auth --from-literal=username=${clickHouse.user} --from-literal=password=${clickHouse.password}
		kubectl label secret clickhouse tidemill.dev/use=true
		kubectl annotate secret clickhouse tidemill.dev/hosts=${clickHouse.url}
		tidemill destinations create clickhouse --clickhouse ${clickHouse.url}/analytics --secret-ref clickhouse
		kubectl wait --for=condition=Ready sources,destinations,pipelines --all --timeout=180s
		url=$(kubectl get source shop -o jsonpath={.status.webhookURL})
		curl -sS "$url" -d '{"order": 1}' -H 'content-type: application/json'
		curl -sS "$url" -d '{"order": 2}' -H 'content-type: application/json'
		curl -sS "$(kubectl get source contact -o jsonpath={.status.webhookURL})" -d name=Ada
		tidemill pipelines run orders --wait
		tidemill pipelines run contact --wait`);
	const here = (commands: string) =>
		commands
			.replaceAll("examples/dbt", "$SCRATCH/dbt")
			.replaceAll("dbt-env/bin", bin);
	const first = here(documentedText("docs/dbt.md#try-it sh")).split("\n");
	const next = documentedText("docs/dbt.md#postgres-and-clickhouse sh");
	for (const [target, destination, commands] of [
		["duckdb", "warehouse", first.slice(2).join("\n")],
		["clickhouse", "clickhouse", here(next)],
		["postgres", "postgres", here(next.replaceAll("clickhouse", "postgres"))],
	] as const)
		await attempt(`its commands with ${target}`, async () => {
			const said = await shell(commands);
			if (!/Completed successfully/.test(said)) throw new Error(said);
			const shown = await shell(
				`${bin}/dbt show --quiet --output json --select orders_by_day --project-dir "$SCRATCH/dbt" --profiles-dir "$SCRATCH/dbt" --target ${target} --vars '{destination: ${destination}}'`,
			);
			const [row] = (JSON.parse(shown) as { show: { orders: number }[] }).show;
			if (Number(row?.orders) !== 2) throw new Error(shown);
			const results = JSON.parse(
				await readFile(join(scratch, "dbt/target/sources.json"), "utf8"),
			) as { results: { unique_id?: string; status?: string }[] };
			const [{ unique_id: id, status } = {}] = results.results;
			if (!id?.includes(`.${destination}.`) || status !== "pass")
				throw new Error(JSON.stringify(results.results));
		});
} finally {
	await clickHouse.stop();
	await local.stop();
	await rm(scratch, { recursive: true, force: true });
}
process.exitCode = failures.length > 0 ? 1 : 0;

/** Runs commands as in a shell that has sourced the local Tidemill's variables. */
function shell(commands: string): Promise<string> {
	return outputOf("bash", ["-ec", `. "$0/env"; ${commands}`, local.home], {
		cwd: root,
		env: {
			SCRATCH: scratch,
			// As a start with CLICKHOUSE=1 has them.
			CLICKHOUSE_HOST: new URL(clickHouse.url).hostname,
			CLICKHOUSE_PORT: new URL(clickHouse.url).port,
			CLICKHOUSE_USER: clickHouse.user,
			CLICKHOUSE_PASSWORD: clickHouse.password,
			DBT_DUCKDB: join(scratch, "analytics.duckdb"),
			TIDEMILL_DUCKDB: join(local.home, "warehouse/default/warehouse.duckdb"),
			DBT_SEND_ANONYMOUS_USAGE_STATS: "false",
		},
	});
}

async function attempt(what: string, work: () => Promise<void>) {
	try {
		await withProgress(`dbt: ${what}`, work());
		console.log(`✓ dbt: ${what}`);
	} catch (error) {
		failures.push(what);
		console.log(`✗ dbt: ${what}: ${(error as Error).message}`);
	}
}
