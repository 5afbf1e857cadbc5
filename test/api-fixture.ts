import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { expect, inject, vi } from "vitest";
import { type ApiOptions, createApi } from "../operator/api/server.ts";
import { loadCluster } from "../operator/kube/cluster.ts";
import { tokenClients } from "../operator/kube/token-clients.ts";
import { createLog } from "../service/log.ts";
import { kubectl } from "./kubectl.ts";

export interface TestApi {
	api: FastifyInstance;
	url: string;
	/** Begins to stop it, as SIGTERM does. */
	stop: AbortController;
	/** Settles when a caller waits for the end of a run. */
	isWaited: Promise<void>;
}

/** The REST API on a free port, in front of the tests' apiserver or another one. */
export async function startApi(
	cluster = loadCluster(inject("kubeconfig")),
	options: Partial<ApiOptions> = {},
): Promise<TestApi> {
	const stop = new AbortController();
	const { promise: isWaited, resolve } = Promise.withResolvers<void>();
	const clientOf = tokenClients(cluster);
	const api = createApi({
		clientFor: (token) => {
			const client = clientOf(token);
			const watch = client.watch.bind(client);
			client.watch = ((...args: Parameters<typeof watch>) => {
				resolve();
				return watch(...args);
			}) as typeof client.watch;
			return client;
		},
		rateLimit: { limit: 1_000_000, windowMs: 60_000 },
		log: createLog("test"),
		stopping: stop.signal,
		...options,
	});
	const url = await api.listen({ host: "127.0.0.1", port: 0 });
	return { api, url, stop, isWaited };
}

/** A token of a new ServiceAccount, bound to a ClusterRole in its own namespace when one is named. */
export async function tokenOf(
	namespace: string,
	name: string,
	clusterRole?: string,
): Promise<string> {
	const inNamespace = `--namespace=${namespace}`;
	await kubectl(["create", "serviceaccount", name, inNamespace]);
	if (clusterRole) {
		await kubectl([
			"create",
			"rolebinding",
			name,
			`--clusterrole=${clusterRole}`,
			`--serviceaccount=${namespace}:${name}`,
			inNamespace,
		]);
		await untilMayList(namespace, name);
	}
	const { stdout } = await kubectl(["create", "token", name, inNamespace]);
	return stdout.trim();
}

/** The apiserver judges by what it has in memory, where a binding comes a moment later. Each of our roles lists runs. */
async function untilMayList(namespace: string, name: string): Promise<void> {
	await vi.waitFor(
		async () => {
			const { stdout } = await kubectl([
				...["auth", "can-i", "list", "runs.tidemill.dev"],
				`--as=system:serviceaccount:${namespace}:${name}`,
				`--namespace=${namespace}`,
			]);
			expect(stdout).toBe("yes\n");
		},
		{ timeout: 120_000 },
	);
}

export interface ApiAnswer {
	status: number;
	headers: Headers;
	body: ApiBody;
}

/** What the tests look at in any answer's body; undefined fields where there is none. */
export interface ApiBody {
	[field: string]: unknown;
	name: string;
	status: string;
	items: { name: string }[];
	cursor?: string;
	error: {
		code: string;
		message: string;
		details: { path: string; message: string }[];
	};
}

export async function ask(
	url: string,
	request: RequestInit = {},
): Promise<ApiAnswer> {
	const response = await fetch(url, request);
	const { status, headers } = response;
	const text = await response.text();
	const isJson = headers.get("content-type")?.startsWith("application/json");
	const body = isJson ? JSON.parse(text) : { text };
	return { status, headers, body: body as ApiBody };
}

export type ApiClient = (
	method: string,
	path: string,
	body?: unknown,
	headers?: Record<string, string>,
) => Promise<ApiAnswer>;

/** Asks as who has the token; a body is sent as JSON. */
export function apiClient(url: string, token: string): ApiClient {
	return (method, path, body, headers = {}) =>
		ask(url + path, {
			method,
			headers: {
				authorization: `Bearer ${token}`,
				...(body !== undefined && { "content-type": "application/json" }),
				...headers,
			},
			...(body !== undefined && { body: JSON.stringify(body) }),
		});
}

/** A new namespace with a token for each ready-made role there. */
export async function newAccount(): Promise<{
	account: string;
	tokens: Record<"viewer" | "editor" | "runner" | "nobody", string>;
}> {
	const account = `api-${randomBytes(4).toString("hex")}`;
	const roles = join(import.meta.dirname, "../operator/roles.yaml");
	await kubectl(["apply", `--filename=${roles}`]);
	await kubectl(["create", "namespace", account]);
	const [viewer, editor, runner, nobody] = await Promise.all([
		tokenOf(account, "viewer", "tidemill-viewer"),
		tokenOf(account, "editor", "tidemill-editor"),
		tokenOf(account, "runner", "tidemill-runner"),
		tokenOf(account, "nobody"),
	]);
	return { account, tokens: { viewer, editor, runner, nobody } };
}
