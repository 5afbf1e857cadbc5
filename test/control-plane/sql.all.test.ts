// In make test: cli/bin/command-line.test.ts
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
	destinationKind,
} from "../../crds/generated/types.ts";
import { KubeClient } from "../../packages/kube/client/client.ts";
import { loadKubeConfig } from "../../packages/kube/client/kube-config.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { inProcess } from "../support/cli/in-process.ts";
import { newAccount } from "../support/fixtures/control-plane/api-fixture.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../support/servers/clickhouse/server.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";
import { hasPython } from "../support/servers/python.ts";

/* `tidemill sql` asks the servers of Destinations, with the credentials of their Secrets. */

const admin = KubeClient.fromConfig(loadKubeConfig(inject("kubeconfig")));
const isClickHouseHere = await hasPython();
let account: string;
let postgres: PostgresServer;
let clickHouse: ClickHouseServer;

beforeAll(async () => {
	// A command prints once in its life, and here many share one process: Node would warn of their listeners.
	process.stdout.setMaxListeners(100);
	({ account } = await newAccount());
	postgres = await startPostgres();
	await postgres.rows(
		`CREATE SCHEMA "web hooks"; CREATE TABLE "web hooks".orders (id text, n bigint, big bigint, price numeric(10,2), j jsonb, ok boolean, t timestamptz, none text);
		INSERT INTO "web hooks".orders VALUES ('a', 1, 9007199254740993, 1.10, '{"x": 12345678901234567890}', true, '2026-03-01 02:00:00+02', NULL), ('b"', 2, 2, 2.00, '[]', false, '2026-03-02', '')`,
	);
	await destination("Postgres", "postgres", postgres, {
		host: "127.0.0.1",
		port: postgres.port,
		database: "postgres",
		schema: "web hooks",
		sslMode: "disable",
	});
	if (!isClickHouseHere) return;
	clickHouse = await startClickHouse();
	for (const sql of [
		"CREATE DATABASE shop",
		"CREATE TABLE shop.orders (id String, n Int32, big Int64, none Nullable(String)) ENGINE = MergeTree ORDER BY id",
		"INSERT INTO shop.orders VALUES ('a', 1, 9007199254740993, NULL), ('b\"', 2, 2, '')",
	])
		await clickHouse.rows(sql);
	await destination("ClickHouse", "clickHouse", clickHouse, {
		url: clickHouse.url,
		database: "shop",
	});
});
afterAll(async () => {
	await postgres?.stop();
	await clickHouse?.stop();
});
beforeEach(() => void vi.stubEnv("KUBECONFIG", inject("kubeconfig")));

async function destination(
	type: Destination["spec"]["type"],
	member: string,
	{ user, password }: { user: string; password: string },
	own: object,
) {
	const name = type.toLowerCase();
	const metadata = { name, namespace: account };
	await admin.create(kinds.secret, {
		metadata,
		stringData: { username: user, password },
	} as never);
	await admin.create<Destination>(destinationKind, {
		metadata,
		spec: { type, [member]: { ...own, credentials: { secretRef: { name } } } },
	} as unknown as Destination);
}

const ask = (destination: string, ...args: string[]) =>
	inProcess("sql", "-n", account, "-d", destination, ...args);

test("a query of Postgres is printed as a table, as CSV and as JSON", async () => {
	const json = await ask(
		"postgres",
		"select * from orders order by id;",
		"-o",
		"json",
	);
	expect(json.stderr).toBe("");
	expect(json.stdout.trimEnd().split("\n")).toEqual([
		'{"id":"a","n":1,"big":"9007199254740993","price":1.10,"j":{"x":12345678901234567890},"ok":true,"t":"2026-03-01 00:00:00+00","none":null}',
		'{"id":"b\\"","n":2,"big":2,"price":2.00,"j":[],"ok":false,"t":"2026-03-02 00:00:00+00","none":""}',
	]);
	const query = "select id, big, none, 1 as id from orders order by n -- all";
	expect((await ask("postgres", query, "-o", "csv")).stdout).toBe(
		'id,big,none,id_1\r\na,9007199254740993,,1\r\n"b""",2,"",1\r\n',
	);
	expect(
		(await ask("postgres", "select id, n from orders order by n")).stdout,
	).toBe(' id | n\n----+---\n a  | 1\n b" | 2\n(2 rows)\n');
	for (const [sql, shown] of [
		["show server_version", "18."],
		["explain select 1", "Result"],
		["select 1 where false", "(0 rows)"],
		["with a as (select 7 as seven) table a", "seven"],
	] as const)
		expect((await ask("postgres", sql)).stdout, sql).toContain(shown);
	const many = await ask(
		"postgres",
		"select generate_series(1, 2500) as i",
		"-o",
		"json",
	);
	expect(many.stdout.trimEnd().split("\n")).toHaveLength(2_500);
});

test.each([
	["delete from orders", "read-only transaction"],
	["select 1; drop table orders", "multiple commands"],
	["commit; delete from orders", "multiple commands"],
	["select nope from orders", 'column "nope" does not exist'],
	["selec 1", 'syntax error at or near "selec"'],
])(
	"Postgres refuses %s in its own words, and nothing changes",
	async (sql, words) => {
		const { exitCode, stdout, stderr } = await ask("postgres", sql);
		expect(stdout).toBe("");
		expect(stderr).toContain(words);
		expect(stderr).not.toContain("Each day in the table");
		expect(exitCode).toBe(1);
		expect(
			await postgres.rows('SELECT count(*) FROM "web hooks".orders'),
		).toEqual([["2"]]);
	},
);

test.skipIf(!isClickHouseHere)(
	"a query of ClickHouse is printed, and one that writes is refused",
	async () => {
		const query = "select id, n, big, none from orders order by id";
		const json = await ask("clickhouse", query, "-o", "json");
		expect(json.stderr).toBe("");
		expect(json.stdout.trimEnd().split("\n")).toEqual([
			'{"id":"a","n":1,"big":"9007199254740993","none":null}',
			'{"id":"b\\"","n":2,"big":2,"none":""}',
		]);
		expect((await ask("clickhouse", `${query};`, "-o", "csv")).stdout).toBe(
			'id,n,big,none\r\na,1,9007199254740993,\r\n"b""",2,2,""\r\n',
		);
		expect((await ask("clickhouse", "show tables")).stdout).toContain("orders");
		const mistake = await ask("clickhouse", "select nope from orders");
		expect(mistake.stderr).toContain("nope");
		expect(mistake.exitCode).toBe(1);
		const drop = await ask("clickhouse", "drop table orders");
		expect(drop.exitCode).toBe(1);
		expect(await clickHouse.rows("SELECT count() FROM shop.orders")).toEqual([
			[2],
		]);
	},
);

test("without the Secret it says which is missing", async () => {
	await admin.create<Destination>(destinationKind, {
		metadata: { name: "lost", namespace: account },
		spec: {
			type: "Postgres",
			postgres: {
				host: "db.example.com",
				database: "d",
				credentials: { secretRef: { name: "gone" } },
			},
		},
	} as unknown as Destination);
	const { exitCode, stderr } = await ask("lost", "select 1");
	expect(stderr).toContain(`there is no Secret "gone" in namespace ${account}`);
	expect(exitCode).toBe(1);
});
