// In make test: test/control-plane/api.laptop.test.ts
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
	type Destination,
	destinationKind,
} from "../../crds/generated/types.ts";
import { loadCluster } from "../../packages/kube/client/cluster.ts";
import { tokenClients } from "../../packages/kube/client/token-clients.ts";
import {
	administrator,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";

/* GET /v1/changes: what visitors see of an account as it changes, each with a right of their own, by one watch. */

const admin = administrator();
const wait = { timeout: 120_000, interval: 50 };
const duckDB = { type: "DuckDB", duckDB: { path: "a.duckdb" } } as const;

let api: TestApi;
let account: string;
let tokens: Awaited<ReturnType<typeof newAccount>>["tokens"];
/** The watches that run now, each with the path that it watches. */
const watches = new Set<{ plural: string; token: string }>();
/** The namespace of each list of Destinations that the API has asked for. */
const lists: (string | undefined)[] = [];

beforeAll(async () => {
	({ account, tokens } = await newAccount());
	const clientOf = tokenClients(loadCluster(inject("kubeconfig")));
	api = await startApi(undefined, {
		clientFor: (token) => {
			const client = clientOf(token);
			const watch = client.watch.bind(client);
			const list = client.list.bind(client);
			client.list = (kind, options) => {
				if (kind.plural === "destinations") lists.push(options?.namespace);
				return list(kind, options);
			};
			client.watch = async function* (kind, options) {
				const open = { plural: kind.plural, token };
				watches.add(open);
				try {
					yield* watch(kind, options);
				} finally {
					watches.delete(open);
				}
			};
			return client;
		},
	});
});

afterAll(async () => {
	api?.stop.abort();
	await api?.api.close();
});

interface Change {
	event: string;
	data: {
		kind?: string;
		name?: string;
		reason?: string;
		object?: { name: string };
	};
}

/** A visitor's stream, and what has come by it. */
async function follow(token: string, query = "", headers = {}) {
	const leaving = new AbortController();
	onTestFinished(() => leaving.abort());
	const answer = await fetch(`${api.url}/v1/changes${query}`, {
		headers: { authorization: `Bearer ${token}`, ...headers },
		signal: leaving.signal,
	});
	const changes: Change[] = [];
	void (async () => {
		let text = "";
		const decoder = new TextDecoder();
		for await (const chunk of answer.body!) {
			text += decoder.decode(chunk, { stream: true });
			const events = text.split("\n\n");
			text = events.pop()!;
			for (const one of events) {
				const event = /^event: (.*)$/m.exec(one)?.[1];
				const data = /^data: (.*)$/m.exec(one)?.[1];
				if (event && data) changes.push({ event, data: JSON.parse(data) });
			}
		}
	})().catch(() => {});
	const has = (event: string, name?: string) =>
		vi.waitFor(
			() =>
				expect(
					changes.filter(
						(one) =>
							one.event === event &&
							(name === undefined ||
								(one.data.object?.name ?? one.data.name) === name),
					).length,
				).toBeGreaterThan(0),
			wait,
		);
	return { answer, changes, has, leave: () => leaving.abort() };
}

async function make(name: string, namespace = account): Promise<void> {
	await admin.create<Destination>(destinationKind, {
		metadata: { name, namespace },
		spec: duckDB,
	} as Destination);
}

test("a visitor gets what is there, then what changes and what is gone, as REST shows it", async () => {
	await make("before");
	const { has, changes, answer } = await follow(tokens.viewer);
	expect(answer.headers.get("content-type")).toMatch(/^text\/event-stream/);
	await has("ready");
	const first = changes.findIndex(({ event }) => event === "ready");
	const begun = changes.slice(0, first);
	const object = begun.findIndex(({ event }) => event === "object");
	expect(begun.filter(({ event }) => event === "object")).toHaveLength(1);
	expect(begun[object + 1]).toMatchObject({
		event: "listed",
		data: { kind: "destinations" },
	});
	const ask = apiClient(api.url, tokens.viewer);
	const { body } = await ask("GET", "/v1/destinations/before");
	expect(begun[object]?.data).toEqual({ kind: "destinations", object: body });
	await make("after");
	await has("object", "after");
	await admin.delete(destinationKind, "before", account);
	await has("deleted", "before");
});

test("nobody sees another account's objects, nor kinds without the right to list and watch them", async () => {
	const other = await newAccount();
	const own = await follow(tokens.viewer, "?kinds=destinations");
	await own.has("ready");
	await make("of-another", other.account);
	const theirs = await follow(other.tokens.viewer, "?kinds=destinations");
	await theirs.has("object", "of-another");
	await make("own");
	await own.has("object", "own");
	expect(JSON.stringify(own.changes)).not.toContain("of-another");
	const foreign = await follow(other.tokens.viewer, "", {
		"tidemill-account": account,
	});
	expect(foreign.answer.status).toBe(403);
	for (const [token, kinds, status] of [
		[tokens.nobody, "", 403],
		[tokens.runner, "?kinds=sources", 403],
		[tokens.runner, "?kinds=runs,pipelines", 200],
		[tokens.runner, "", 200],
		[tokens.viewer, "?kinds=secrets", 400],
	] as const) {
		const { answer, leave } = await follow(token, kinds);
		expect([kinds, answer.status]).toEqual([kinds, status]);
		leave();
	}
});

test("many visitors cost one watch and one list; who leaves hands it on; a revoked one is cut off, and the others go on", async () => {
	const { account: shared, tokens: theirs } = await newAccount();
	const mine = (token: string) =>
		[...watches].filter((watch) => watch.token === token).length;
	// The first visitor's token holds the watch.
	const revoked = await follow(theirs.editor, "?kinds=destinations");
	await revoked.has("ready");
	const viewers = [];
	for (let i = 0; i < 20; i++)
		viewers.push(await follow(theirs.viewer, "?kinds=destinations"));
	for (const viewer of viewers) await viewer.has("ready");
	expect([mine(theirs.editor), mine(theirs.viewer)]).toEqual([1, 0]);

	await admin.raw(
		"DELETE",
		`/apis/rbac.authorization.k8s.io/v1/namespaces/${shared}/rolebindings/editor-tidemill-editor`,
	);
	await vi.waitFor(
		() => expect(revoked.changes.at(-1)?.data.reason).toBe("Forbidden"),
		{ timeout: 60_000, interval: 50 },
	);
	await make("after-the-revocation", shared);
	for (const viewer of viewers)
		await viewer.has("object", "after-the-revocation");
	expect(JSON.stringify(revoked.changes)).not.toContain("after-the-revocation");
	expect([mine(theirs.editor), mine(theirs.viewer)]).toEqual([0, 1]);

	for (const viewer of viewers.slice(0, 10)) viewer.leave();
	await make("after-ten-left", shared);
	for (const viewer of viewers.slice(10))
		await viewer.has("object", "after-ten-left");
	// The one who held it may have left, and the next takes it over.
	await vi.waitFor(() => expect(mine(theirs.viewer)).toBe(1), wait);
	await make("after-the-hand-over", shared);
	for (const viewer of viewers.slice(10))
		await viewer.has("object", "after-the-hand-over");
	expect(lists.filter((namespace) => namespace === shared)).toHaveLength(1);
	for (const viewer of viewers) viewer.leave();
	await vi.waitFor(() => expect(mine(theirs.viewer)).toBe(0), wait);
});

test("a visitor whose token has ended is cut off", async () => {
	const { account: shared, tokens: theirs } = await newAccount();
	const ended = await follow(theirs.viewer, "?kinds=destinations");
	await ended.has("ready");
	await admin.raw(
		"DELETE",
		`/api/v1/namespaces/${shared}/serviceaccounts/viewer`,
	);
	await vi.waitFor(
		() => expect(ended.changes.at(-1)?.data.reason).toBe("Unauthorized"),
		{ timeout: 60_000, interval: 50 },
	);
});
