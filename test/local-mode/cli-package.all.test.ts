// In make test: cli/bin/command-line.test.ts
import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import Stripe from "stripe";
import { beforeAll, expect, test } from "vitest";
import { locateHome } from "../../local/machine/home.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import { writePackage } from "../../tools/npm/package.ts";
import { outputOf } from "../ecosystem/program.ts";
import { npmPackages } from "../ecosystem/typescript/npm-packages.ts";
import { send } from "../support/senders/http-client.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";
import { hasPostgres } from "./setup.ts";

const secret = "whsec_0123456789abcdefghij";
const versions = ["22.23.3", "24.21.0"];

/** The machine of somebody who has the package alone, and of somebody who has DuckDB's library beside it. */
let installed: string;
let withDuckDB: string;
let tarball: string;

beforeAll(async () => {
	const folder = await temporaryDirectory("cli-package");
	await writePackage(join(folder, "unpacked"));
	const [packed] = JSON.parse(
		await outputOf("npm", [
			...["pack", join(folder, "unpacked"), "--json"],
			...["--pack-destination", folder],
		]),
	);
	tarball = join(folder, packed.filename);
	installed = join(folder, "machine");
	await install(installed, "--offline", tarball);
	withDuckDB = join(folder, "machine-with-duckdb");
	const { dependencies } = JSON.parse(
		readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"),
	);
	const duckDB = `@duckdb/node-api@${dependencies["@duckdb/node-api"]}`;
	await install(withDuckDB, "--prefer-offline", tarball, duckDB);
});

function install(prefix: string, ...words: string[]): Promise<string> {
	return outputOf("npm", [
		...["install", "--no-audit", "--no-fund", "--prefix", prefix, ...words],
	]);
}

/** An old name of npm's for Node's binaries has every version. */
async function nodeOf(version: string): Promise<string> {
	const name = `node-${process.platform}-${process.arch}`;
	const modules = await npmPackages(`node-${version}`, [`${name}@${version}`]);
	return join(modules, name, "bin/node");
}

/** Runs a script of a shell that has the package's commands, that Node, and nothing of this clone. */
async function shell(
	node: string,
	script: string,
	env: Record<string, string> = {},
	machine = installed,
): Promise<string> {
	const folder = await temporaryDirectory("empty");
	await mkdir(join(folder, "home"));
	const path = [
		join(machine, "node_modules/.bin"),
		dirname(node),
		"/usr/bin",
		"/bin",
	];
	const { stdout } = await promisify(execFile)("bash", ["-euc", script], {
		cwd: folder,
		env: { PATH: path.join(delimiter), HOME: join(folder, "home"), ...env },
	});
	return stdout;
}

/** A shell as above in a namespace of a running Tidemill, of which it has the API's address and a kubeconfig. */
async function machineOf(local: LocalMode, node: string) {
	const { home, namespace } = local;
	const { kube } = locateHome({ TIDEMILL_HOME: home });
	const api = await local.run("sh", "-c", "echo $TIDEMILL_API_URL");
	const env = {
		KUBECONFIG: join(kube, `${namespace}.kubeconfig`),
		TIDEMILL_API_URL: api.trim(),
	};
	return (script: string, machine?: string) =>
		shell(
			node,
			script,
			// Where a file of DuckDB is on this machine.
			machine ? { ...env, TIDEMILL_HOME: home } : env,
			machine,
		);
}

const createSource = `echo ${secret} | tidemill sources create pay --provider stripe --secret-stdin --wait`;
const createPipeline =
	"tidemill pipelines create payments --source pay --destination lake --every 15m --body-column amount=/data/object/amount:integer --set table.columns=EventID,Date --wait > /dev/null";
const runPipeline = "tidemill pipelines run payments --wait";

/** Stripe's own library signs. Returns the event's id. */
async function pay(url: string): Promise<string> {
	const payload = JSON.stringify({
		...{ id: "evt_1", object: "event", type: "payment_intent.succeeded" },
		data: { object: { amount: 1999, currency: "eur" } },
	});
	const signature = new Stripe(
		"sk_test_none",
	).webhooks.generateTestHeaderString({ payload, secret });
	const { status, json } = await send(url, {
		headers: {
			"content-type": "application/json",
			"stripe-signature": signature,
		},
		body: payload,
	});
	expect(status).toBe(200);
	return json.event_id;
}

test.each(versions)(
	"from an empty folder, four commands of the npm package on Node %s lead from Stripe's SDK to a row",
	async (version) => {
		const local = await openLocalMode(`package-${version.split(".")[0]}`);
		const tidemill = await machineOf(local, await nodeOf(version));
		const said = await tidemill(`
${createSource}
tidemill destinations create lake --duckdb lake.duckdb --wait > /dev/null
${createPipeline}`);
		const eventID = await pay(said.split("\n")[1]!);
		await tidemill(runPipeline);
		const rows = await tidemill(
			"tidemill sql -o json 'select event_id, amount from payments'",
			withDuckDB,
		);
		expect(JSON.parse(rows)).toEqual({ event_id: eventID, amount: 1999 });
		// The kubeconfig alone says who asks the REST API.
		expect(
			await tidemill(`tidemill events get pay ${eventID} --body`),
		).toContain("eur");
		expect(await tidemill("kubectl-tidemill pipelines list -o name")).toBe(
			"pipeline/payments\n",
		);
		expect(await tidemill("kubectl_complete-tidemill pipelines edit pay")).toBe(
			"payments\n:4\n",
		);
		// The descriptions of providers are files of the package.
		expect(
			await tidemill(
				"tidemill sources create other --provider paddle --dry-run -o yaml",
			),
		).toContain("kind: Source");
	},
);

test.runIf(hasPostgres)(
	"the row is in Postgres, and the package alone says how to read it",
	async () => {
		const local = await openLocalMode("package-postgres");
		const tidemill = await machineOf(local, await nodeOf(versions[0]!));
		const secretOf = (namespace: string) =>
			local.client.get<Secret>(kinds.secret, "postgres", namespace);
		const { type, data, metadata } = (await secretOf("default"))!;
		await local.client.create<Secret>(kinds.secret, {
			metadata: {
				...{ name: "postgres", namespace: local.namespace },
				labels: metadata.labels!,
				annotations: metadata.annotations!,
			},
			...{ type: type!, data: data! },
		});
		const [host, port, user, password, database] = [
			...["host", "port", "username", "password", "dbname"],
		].map((key) => Buffer.from(data![key]!, "base64").toString());
		const said = await tidemill(`
${createSource}
tidemill destinations create lake --postgres "postgres://${host}:${port}?sslmode=disable" --secret-ref postgres --wait > /dev/null
${createPipeline}`);
		const eventID = await pay(said.split("\n")[1]!);
		await tidemill(runPipeline);
		const query = "select event_id, amount from payments";
		const printed = await tidemill(`tidemill sql '${query}' 2> /dev/null`);
		expect(printed).toBe(
			`psql '--dbname=postgresql://${host}:${port}/?sslmode=disable' '--command=${query}'\n`,
		);
		const client = new pg.Client({
			...{ host, port: Number(port), user, password, database },
		});
		await client.connect();
		const { rows } = await client.query(query);
		// Another file's pages make a table of this name in the same schema, and the schedule would make this one again.
		await tidemill("tidemill pipelines delete payments");
		await client.query("drop table payments");
		await client.end();
		expect(rows).toEqual([{ event_id: eventID, amount: "1999" }]);
	},
);

test("what the package leaves out says so, and what would help", async () => {
	const said = await shell(
		await nodeOf(versions[0]!),
		"for words in \"sql 'select 1'\" receive 'setup rotate seal-key'; do eval tidemill $words 2>&1 && exit 1; done; true",
	);
	const [sql, receive, rotate] = said.trim().split("\n");
	expect(sql).toContain("npm install --global @duckdb/node-api");
	expect(receive).toMatch(/^tidemill receive: .*image/);
	expect(rotate).toMatch(/^tidemill setup rotate: .*image/);
});

test("a Node that is too old is told which one is needed", async () => {
	const said = await shell(
		await nodeOf("20.20.2"),
		"tidemill --version 2>&1 && exit 1 || true",
	);
	expect(said).toMatch(
		/^tidemill: this is Node\.js 20\.20\.2, and Tidemill needs 22\.12 or later/,
	);
});

test("the package is at most 1 MB and brings no other", async () => {
	expect(statSync(tarball).size).toBeLessThan(1_000_000);
	const lock = await shell(
		process.execPath,
		`cat '${join(installed, "package-lock.json")}'`,
	);
	expect(Object.keys(JSON.parse(lock).packages)).toEqual([
		"",
		"node_modules/@tidemill/cli",
	]);
});
