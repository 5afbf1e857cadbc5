// In make test: test/control-plane/api.laptop.test.ts
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { loadCluster } from "../../packages/kube/client/cluster.ts";
import {
	type OidcIssuer,
	startOidcIssuer,
} from "../support/doubles/oidc-issuer.ts";
import {
	type ApiAnswer,
	type ApiClient,
	apiClient,
	startApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";
import {
	startControlPlane,
	type TestControlPlane,
} from "../support/servers/control-plane.ts";

const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } };
const wait = { timeout: 120_000, interval: 50 };

let issuer: OidcIssuer;
let controlPlane: TestControlPlane;
let api: TestApi;

beforeAll(async () => {
	issuer = await startOidcIssuer();
	controlPlane = await startControlPlane(issuer);
	const { kubectl, kubeconfig } = controlPlane;
	const roles = join(
		import.meta.dirname,
		"../../charts/tidemill/files/rbac/roles.yaml",
	);
	await kubectl("apply", `--filename=${roles}`);
	for (const account of ["shop", "bank"])
		await kubectl("create", "namespace", account);
	await kubectl(
		...["create", "rolebinding", "engineers", "--namespace=shop"],
		...["--clusterrole=tidemill-editor", "--group=oidc:engineers"],
	);
	await kubectl("create", "serviceaccount", "editor", "--namespace=shop");
	await kubectl(
		...["create", "rolebinding", "editor", "--namespace=shop"],
		...["--clusterrole=tidemill-editor", "--serviceaccount=shop:editor"],
	);
	api = await startApi(loadCluster(kubeconfig));
});

afterAll(async () => {
	await api?.api.close();
	await controlPlane?.stop();
	await issuer?.stop();
});

describe("a person with a token of an OpenID Connect issuer", () => {
	let ada: ApiClient;
	const inShop = { "tidemill-account": "shop" };

	beforeAll(async () => {
		const token = await issuer.token();
		ada = apiClient(api.url, token);
		// The apiserver reads the issuer's keys, and what roles are bound, in its own time.
		await vi.waitFor(async () => {
			const { status } = await ada("GET", "/v1/sources", undefined, inShop);
			expect(status).toBe(200);
		}, wait);
	});

	test("may do in an account what its role there allows", async () => {
		const body = { name: "by-ada", ...duckDB };
		const made = await ada("POST", "/v1/destinations", body, inShop);
		expect(made.status).toBe(201);
		const listed = await ada("GET", "/v1/destinations", undefined, inShop);
		expect(listed.body.items.map(({ name }) => name)).toContain("by-ada");
	});

	test("must name the account", async () => {
		const { status, body } = await ada("GET", "/v1/sources");
		expect([status, body.code]).toEqual([400, "AccountRequired"]);
	});

	test("reaches no account where it has no role", async () => {
		for (const account of ["bank", "kube-system"]) {
			const header = { "tidemill-account": account };
			const { status } = await ada("GET", "/v1/sources", undefined, header);
			expect(status).toBe(403);
		}
	});

	test("can't use a token that was issued for another audience", async () => {
		const stray = apiClient(api.url, await issuer.token("elsewhere"));
		const { status, headers } = await stray(
			...(["GET", "/v1/sources", undefined, inShop] as const),
		);
		expect(status).toBe(401);
		expect(headers.get("www-authenticate")).toContain("invalid_token");
	});
});

test("an apiserver that is killed in the middle of requests loses nothing that was answered", async () => {
	const token = (
		await controlPlane.kubectl("create", "token", "editor", "-n", "shop")
	).trim();
	const ask = apiClient(api.url, token);
	const answers: ApiAnswer[] = [];
	const made = new Set<string>();
	const count = (status: number) =>
		answers.filter((answer) => answer.status === status).length;
	let isOver = false;
	const worker = async (id: number) => {
		for (let number = 0; !isOver; number++) {
			const name = `while-killed-${id}-${number}`;
			const body = { name, ...duckDB };
			const creation = await ask("POST", "/v1/destinations", body);
			if (creation.status === 201) made.add(name);
			answers.push(creation, await ask("GET", "/v1/destinations?limit=3"));
		}
	};
	const workers = Promise.all(Array.from({ length: 8 }, (_, id) => worker(id)));
	const moreOf = async (status: number) => {
		const before = count(status);
		await vi.waitFor(
			() => expect(count(status)).toBeGreaterThan(before + 10),
			wait,
		);
	};
	await moreOf(201);
	await controlPlane.kill();
	await moreOf(503);
	await controlPlane.start();
	await moreOf(201);
	isOver = true;
	await workers;

	expect([...new Set(answers.map(({ status }) => status))].sort()).toEqual([
		200, 201, 503,
	]);
	for (const { status, headers, body } of answers) {
		if (status !== 503) continue;
		expect(headers.get("retry-after")).toBe("2");
		expect(body.code).toBe("Unavailable");
	}
	const stored = await controlPlane.kubectl(
		...["get", "destinations", "-n", "shop", "-o", "name"],
	);
	const names = new Set(stored.split("\n").map((line) => line.split("/")[1]));
	expect([...made].filter((name) => !names.has(name))).toEqual([]);
});
