// In make test: test/faults/control-plane/api-kills.laptop.test.ts
import {
	createServer,
	type RequestListener,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import {
	afterEach,
	beforeAll,
	describe,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import { loadCluster } from "../../../packages/kube/client/cluster.ts";
import { loadKubeConfig } from "../../../packages/kube/client/kube-config.ts";
import { tokenClients } from "../../../packages/kube/client/token-clients.ts";
import {
	type ApiClient,
	apiClient,
	newAccount,
	startApi,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import { TcpProxy } from "../../support/proxies/tcp-proxy.ts";

const kubeConfig = loadKubeConfig(inject("kubeconfig"));
const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } };

let account: string;
let token: string;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
	const made = await newAccount();
	account = made.account;
	token = made.tokens.editor;
});

afterEach(async () => {
	for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe("an apiserver that", () => {
	test("breaks off in the middle of requests is a clear 503, and later requests succeed", async () => {
		const { ask, proxy } = await askThroughProxy();
		await ask("POST", "/v1/destinations", { name: "there", ...duckDB });
		const asking = Array.from({ length: 20 }, (_, index) =>
			index % 2
				? ask("GET", "/v1/destinations/there")
				: ask("PATCH", "/v1/destinations/there", { displayName: `${index}` }),
		);
		await Promise.race(asking);
		await proxy.close();
		for (const { status, body, headers } of await Promise.all(asking)) {
			if (status === 200) continue;
			expect(status).toBe(503);
			expect(body.code).toBe("Unavailable");
			expect(headers.get("retry-after")).toBe("2");
		}
		expect((await ask("GET", "/v1/destinations")).status).toBe(503);
		await proxy.open();
		expect((await ask("GET", "/v1/destinations/there")).status).toBe(200);
	});

	test("doesn't answer is a 503, too", async () => {
		const { ask, proxy } = await askThroughProxy(3_000);
		await vi.waitFor(
			async () => expect((await ask("GET", "/v1/runs")).status).toBe(200),
			{ timeout: 120_000 },
		);
		proxy.stall();
		const { status, body } = await ask("GET", "/v1/runs");
		expect([status, body.code]).toEqual([503, "Unavailable"]);
	});

	test.each<[string, (response: ServerResponse) => unknown]>([
		["breaks off in", (response) => response.destroy()],
		["says no more in", () => undefined],
	])("%s the middle of an answer is a 503", async (_, fail) => {
		const ask = await askBefore((_request, response) => {
			response.write('{"items":[', () => fail(response));
		}, 1_000);
		const { status, body } = await ask("GET", "/v1/sources");
		expect([status, body.code]).toEqual([503, "Unavailable"]);
	});

	test.each([
		[409, "Conflict", 409],
		[410, "CursorExpired", 410],
		[429, "Unavailable", 503],
		[500, "Internal", 500],
		[503, "Unavailable", 503],
	])("answers %d becomes %s", async (given, code, status) => {
		const ask = await askBefore((_request, response) => {
			response.writeHead(given, { "content-type": "application/json" });
			response.end('{"message":"etcdserver: something inside"}');
		});
		const answer = await ask("GET", "/v1/sources");
		expect([answer.status, answer.body.code]).toEqual([status, code]);
		expect(answer.headers.get("x-request-id")).toBeTruthy();
		if (status >= 500) expect(answer.body.detail).not.toContain("etcdserver");
	});

	test("says when to retry is asked again", async () => {
		let asked = 0;
		const ask = await askBefore((_request, response) => {
			asked++;
			response.writeHead(asked < 3 ? 429 : 200, { "retry-after": "0" });
			response.end('{"items":[],"metadata":{}}');
		});
		const { status, body } = await ask("GET", "/v1/sources");
		expect({ status, body }).toMatchObject({
			status: 200,
			body: { items: [] },
		});
	});

	test("sends an unreadable answer is a 500 that repeats nothing of it", async () => {
		const ask = await askBefore((_request, response) => {
			response.end("<html>secret</html>");
		});
		const { status, body } = await ask("GET", "/v1/sources");
		expect(status).toBe(500);
		expect(JSON.stringify(body)).not.toContain("secret");
	});
});

/** The API before the real apiserver, over a network that can fail. */
async function askThroughProxy(requestTimeoutMs?: number) {
	const { server } = kubeConfig.getCurrentCluster()!;
	const proxy = await TcpProxy.start(Number(new URL(server).port));
	const ask = await askAt(`https://127.0.0.1:${proxy.port}`, requestTimeoutMs);
	cleanups.push(() => proxy.close().catch(() => undefined));
	return { ask, proxy };
}

/** The API before an apiserver that knows who asks and answers all else as told. */
async function askBefore(
	answer: RequestListener,
	requestTimeoutMs?: number,
): Promise<ApiClient> {
	const server = createServer((request, response) => {
		if (!request.url?.includes("selfsubjectreviews"))
			return answer(request, response);
		const username = `system:serviceaccount:${account}:editor`;
		const groups = ["system:serviceaccounts"];
		response.end(
			JSON.stringify({ status: { userInfo: { username, groups } } }),
		);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	cleanups.push(async () => server.close());
	const { port } = server.address() as AddressInfo;
	return askAt(`http://127.0.0.1:${port}`, requestTimeoutMs);
}

async function askAt(
	server: string,
	requestTimeoutMs = 120_000,
): Promise<ApiClient> {
	const cluster = { ...loadCluster(inject("kubeconfig")), server };
	const { api, url } = await startApi(cluster, {
		clientFor: tokenClients(cluster, { requestTimeoutMs }),
	});
	cleanups.push(() => api.close());
	return apiClient(url, token);
}
