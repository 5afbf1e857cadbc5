import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loopbackNames } from "../../api/console/own-page.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import { codeLifeMs, issueCode } from "../../packages/service/sign-in-codes.ts";
import {
	administrator,
	startApi,
	type TestApi,
	tokenOf,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { EndedHere } from "../support/fixtures/control-plane/without-nats.ts";
import { kubectl } from "../support/servers/kubectl.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";

const suffix = randomBytes(4).toString("hex");
const shop = `console-shop-${suffix}`;
const bank = `console-bank-${suffix}`;
const host = "127.0.0.1:8090";
const ownPage = {
	host,
	"tidemill-console": "1",
	"sec-fetch-site": "same-origin",
	origin: `http://${host}`,
};

const keys = new SealKey(randomBytes(32));
let directory: string;
let codes: string;
let server: TestApi;
let editor: string;
let viewer: string;

beforeAll(async () => {
	await kubectl([
		"apply",
		`--filename=${join(import.meta.dirname, "../../charts/tidemill/files/rbac/roles.yaml")}`,
	]);
	const admin = administrator();
	for (const name of [shop, bank])
		await admin.create(kinds.namespace, { metadata: { name } });
	editor = await tokenOf(shop, "editor", "tidemill-editor");
	viewer = await tokenOf(shop, "viewer", "tidemill-viewer");
	directory = await temporaryDirectory("console");
	codes = join(directory, "codes");
	server = await startApi(undefined, {
		isProxy: (address) => address === "127.0.0.1",
		console: {
			directory: join(directory, "dist"),
			keys,
			hosts: new Set(loopbackNames),
			ended: new EndedHere(),
			codes,
			version: "1.2.3",
		},
	});
});

afterAll(async () => {
	await server.api.close();
	await rm(directory, { recursive: true, force: true });
});

type Headers = Record<string, string>;

function send(
	method: "GET" | "HEAD" | "POST" | "DELETE" | "OPTIONS",
	url: string,
	headers: Headers,
	body?: object,
) {
	return server.api.inject({
		method,
		url,
		headers,
		...(body && { payload: body }),
	});
}

/** The header by which a browser sends what an answer has set. */
function cookieOf({ cookies }: Awaited<ReturnType<typeof send>>): Headers {
	return {
		cookie: cookies
			.filter(({ value }) => value !== "")
			.map(({ name, value }) => `${name}=${value}`)
			.join("; "),
	};
}

async function signIn(token: string): Promise<Headers> {
	const answer = await send("POST", "/console/session", ownPage, { token });
	expect(answer.statusCode).toBe(200);
	return cookieOf(answer);
}

describe("a session", () => {
	test("says who the visitor is, what they may do and until when; its cookie is for the browser alone", async () => {
		const answer = await send("POST", "/console/session", ownPage, {
			token: viewer,
		});
		expect(answer.headers["cache-control"]).toBe("no-store");
		expect(answer.body).not.toContain(viewer);
		const [cookie] = answer.cookies.filter(({ value }) => value !== "");
		expect(cookie).toMatchObject({
			name: "tidemill-console",
			httpOnly: true,
			sameSite: "Strict",
			path: "/",
		});
		expect(cookie!.value).not.toContain(viewer);
		const session = answer.json();
		expect(session).toMatchObject({
			user: `system:serviceaccount:${shop}:viewer`,
			namespace: shop,
			namespaces: [shop],
			version: "1.2.3",
		});
		expect(Date.parse(session.expiresAt)).toBeGreaterThan(Date.now());
		expect(session.rights.sources).toEqual(["get", "list", "watch"]);
		expect(session.rights["sources/bodies"]).toEqual([]);
		const again = await send("GET", "/console/session", {
			...ownPage,
			...cookieOf(answer),
		});
		expect(again.json()).toEqual(session);
	});

	test("opens /v1 with the visitor's own rights", async () => {
		const body = { name: "orders", type: "Webhook" };
		for (const [token, status] of [
			[viewer, 403],
			[editor, 201],
		] as const) {
			const headers = { ...ownPage, ...(await signIn(token)) };
			const created = await send("POST", "/v1/sources", headers, body);
			expect([created.statusCode, created.body]).toEqual([
				status,
				expect.anything(),
			]);
		}
	});

	test("has twenty times the requests that an account's programs have, and spends none of theirs", async () => {
		const { api } = await startApi(undefined, {
			rateLimit: { limit: 2, windowMs: 3_600_000, now: () => 0 },
			console: {
				directory: join(directory, "dist"),
				keys,
				hosts: new Set(loopbackNames),
				ended: new EndedHere(),
				version: "1.2.3",
			},
		});
		const statuses = async (headers: Headers, requests: number) => {
			const answers = [];
			for (let n = 0; n < requests; n++) {
				const path = n % 2 ? "/v1/sources" : "/v1/changes?kinds=nothing";
				answers.push(await api.inject({ method: "GET", url: path, headers }));
			}
			return answers.map(({ statusCode }) => statusCode);
		};
		try {
			const visitor = { ...ownPage, ...(await signIn(viewer)) };
			const seen = await statuses(visitor, 41);
			expect(seen.filter((status) => status !== 429)).toHaveLength(40);
			expect(seen.at(-1)).toBe(429);
			const program = { authorization: `Bearer ${viewer}` };
			// Streams of changes have a limit of their own.
			expect(await statuses(program, 6)).toEqual([
				...[400, 200, 400, 200, 429, 429],
			]);
		} finally {
			await api.close();
		}
	});

	test("over TLS the cookie's name says that no other host has set it", async () => {
		const tls = {
			...ownPage,
			origin: `https://${host}`,
			"x-forwarded-proto": "https",
		};
		const { cookies } = await send("POST", "/console/session", tls, {
			token: viewer,
		});
		expect(cookies.find(({ value }) => value !== "")).toMatchObject({
			name: "__Host-tidemill-console",
			secure: true,
		});
	});

	test("ends when the visitor signs out", async () => {
		const headers = { ...ownPage, ...(await signIn(viewer)) };
		const ended = await send("DELETE", "/console/session", headers);
		expect(ended.statusCode).toBe(204);
		for (const { value, expires } of ended.cookies) {
			expect(value).toBe("");
			expect(expires!.getTime()).toBeLessThan(Date.now());
		}
		// A copy of the cookie.
		for (const url of ["/v1/sources", "/console/session"])
			expect((await send("GET", url, headers)).statusCode).toBe(401);
	});

	test.each([
		["changed", (value: string) => `${value.slice(0, -4)}AAAA`],
		["of another key", () => sealedElsewhere()],
		["cut short", (value: string) => value.slice(0, 40)],
		["made up", () => "1.abc.def"],
	])("whose cookie is %s is none", async (_, forge) => {
		const { cookie } = await signIn(viewer);
		const [name, value] = cookie!.split("=") as [string, string];
		const answer = await send("GET", "/console/session", {
			...ownPage,
			cookie: `${name}=${forge(value)}`,
		});
		expect(answer.statusCode).toBe(401);
		expect(answer.json()).toMatchObject({
			code: "Unauthorized",
			signIn: { token: true, oidc: false, code: true },
		});
	});
});

function sealedElsewhere(): string {
	const key = new SealKey(randomBytes(32));
	const session = Buffer.from(JSON.stringify({ token: viewer }));
	const sealed = key.seal(session, "console session");
	return `1.${key.id}.${Buffer.from(sealed, "base64").toString("base64url")}`;
}

describe("another page can't use a visitor's session", () => {
	test.each<[string, Headers, number]>([
		["a page of another site", { "sec-fetch-site": "cross-site" }, 403],
		["a page of a sibling host", { "sec-fetch-site": "same-site" }, 403],
		["an address typed in", { "sec-fetch-site": "none" }, 403],
		["an old browser", { "sec-fetch-site": "" }, 403],
		["another origin", { origin: "http://127.0.0.1:8091" }, 403],
		["a frame without an origin", { origin: "null" }, 403],
		[
			"a name that leads here",
			{ host: "evil.example", origin: "http://evil.example" },
			403,
		],
		[
			"a name that a proxy passes on",
			{ "x-forwarded-host": "evil.example", origin: "http://evil.example" },
			403,
		],
		[
			"a page of another site, below a proxy's path",
			{ "sec-fetch-site": "cross-site", "x-forwarded-prefix": "/data" },
			403,
		],
		["a form, which has no such header", { "tidemill-console": "" }, 403],
	])("%s", async (_, forged, status) => {
		const headers = { ...ownPage, ...(await signIn(editor)), ...forged };
		const made = { name: `forged-${suffix}` };
		for (const [method, url, body] of [
			["POST", "/v1/sources", made],
			["GET", "/v1/sources"],
			["HEAD", "/v1/sources"],
			// The streams.
			["GET", "/v1/changes?kinds=sources"],
			["GET", "/v1/sources/orders/events/tail"],
			["GET", "/v1/runs/orders-1/logs?follow=true"],
			["GET", "/console/session"],
			// Nobody is signed in as another one.
			["POST", "/console/session", { token: viewer }],
			["DELETE", "/console/session"],
		] as [Parameters<typeof send>[0], string, object?][]) {
			const answer = await send(method, url, headers, body);
			expect([method, answer.statusCode]).toEqual([method, status]);
			expect(answer.cookies).toEqual([]);
		}
	});

	test("no page of another origin is let by a preflight, nor may read an answer", async () => {
		const headers = {
			...{ host, origin: "https://evil.example" },
			"sec-fetch-site": "cross-site",
			"access-control-request-method": "POST",
			"access-control-request-headers": "tidemill-console",
		};
		const cookie = await signIn(editor);
		for (const method of ["OPTIONS", "GET"] as const)
			for (const url of ["/v1/sources", "/v1/changes", "/console/session"]) {
				const answer = await send(method, url, { ...headers, ...cookie });
				expect(answer.statusCode).toBeGreaterThanOrEqual(400);
				expect(
					Object.keys(answer.headers).filter((name) =>
						name.startsWith("access-control"),
					),
				).toEqual([]);
			}
	});

	test("a read of the page itself has no Origin, a write needs one; without the console's header the cookie counts for nothing", async () => {
		const { origin, ...rest } = { ...ownPage, ...(await signIn(editor)) };
		const status = async (method: "GET" | "POST", headers: Headers) =>
			(
				await send(
					method,
					"/v1/sources",
					headers,
					method === "POST" ? { name: "x" } : undefined,
				)
			).statusCode;
		expect(await status("GET", rest)).toBe(200);
		expect(await status("POST", rest)).toBe(403);
		const { "tidemill-console": _, ...plain } = rest;
		expect(await status("GET", { ...plain, origin })).toBe(401);
	});
});

describe("signing in", () => {
	test("by a code, once", async () => {
		const code = await issueCode(codes, editor);
		const first = await send("POST", "/console/session", ownPage, { code });
		expect(first.json().rights.sources).toContain("create");
		const second = await send("POST", "/console/session", ownPage, { code });
		expect(second.statusCode).toBe(401);
		expect(second.json().detail).toContain("tidemill console");
		expect(second.cookies).toEqual([]);
	});

	test("by a code until it is ten minutes old, and not later", async () => {
		const aged = (ageMs: number) =>
			issueCode(codes, editor, Date.now() - ageMs);
		// The older one last: whoever issues a code removes those that are over.
		const [young, old] = [
			await aged(codeLifeMs - 60_000),
			await aged(codeLifeMs),
		];
		const answers = [];
		for (const code of [young, old])
			answers.push(await send("POST", "/console/session", ownPage, { code }));
		expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 401]);
		expect(answers[1]!.json().detail).toContain("older than ten minutes");
		expect(answers[1]!.cookies).toEqual([]);
	});

	test.each([
		[{ token: "wrong" }, 401],
		[{ token: "" }, 401],
		[{}, 400],
		[{ token: "a", code: "b" }, 400],
		[{ code: 1 }, 400],
	])("with %j is refused", async (body, status) => {
		const answer = await send("POST", "/console/session", ownPage, body);
		expect(answer.statusCode).toBe(status);
		expect(answer.cookies).toEqual([]);
	});

	test("is counted in the rate limit, however its address is written", async () => {
		const { api } = await startApi(undefined, {
			rateLimit: { limit: 3, windowMs: 3_600_000, now: () => 0 },
			console: {
				directory: join(directory, "dist"),
				...{ keys, codes, version: "1.2.3" },
				hosts: new Set(loopbackNames),
				ended: new EndedHere(),
			},
		});
		try {
			const statuses = [];
			for (let n = 0; n < 6; n++) {
				const answer = await api.inject({
					...{ method: "POST", url: "/console/%73ession" },
					...{ headers: ownPage, payload: { code: "guessed" } },
				});
				statuses.push(answer.statusCode);
			}
			expect(new Set(statuses.slice(0, 2))).toEqual(new Set([401]));
			expect(statuses.at(-1)).toBe(429);
			const asked = await send("GET", "/console/%73ession", ownPage);
			expect(asked.statusCode).toBe(401);
		} finally {
			await api.close();
		}
	});

	test("another namespace of a service account never appears", async () => {
		const headers = { ...ownPage, ...(await signIn(editor)) };
		const answer = await send(
			"GET",
			`/console/session?namespace=${bank}`,
			headers,
		);
		expect(answer.json()).toMatchObject({ namespace: shop });
		expect(answer.body).not.toContain(bank);
	});
});

describe("the console's files", () => {
	test("until it is built, the answer says how to build it", async () => {
		const answer = await send("GET", "/console/", { host });
		expect(answer.statusCode).toBe(503);
		expect(answer.body).toContain("npm run console:build");
	});

	test("each page is the app, below a proxy's prefix, with a policy that lets no foreign script run", async () => {
		const dist = join(directory, "dist");
		await mkdir(join(dist, "assets"), { recursive: true });
		await writeFile(join(dist, "assets/main-1.js"), "export {};");
		await writeFile(join(dist, "assets/main-1.js.gz"), "compressed");
		await writeFile(
			join(dist, "index.html"),
			'<!doctype html><base href="/console/" /><script type="module" src="./assets/main-1.js"></script>',
		);
		for (const path of ["", "/", "/sources", "/sources/orders?namespace=x"]) {
			const page = await send("GET", `/console${path}`, { host });
			expect(page.statusCode).toBe(200);
			expect(page.headers["content-type"]).toContain("text/html");
			const policy = page.headers["content-security-policy"];
			expect(policy).toContain("script-src 'self';");
			expect(policy).toContain("require-trusted-types-for 'script'");
			expect(policy).toContain("frame-ancestors 'none'");
		}
		const prefixed = await send("GET", "/console/", {
			host,
			"x-forwarded-prefix": "/data/",
		});
		expect(prefixed.body).toContain('<base href="/data/console/">');
		const hostile = await send("GET", "/console/", {
			host,
			"x-forwarded-prefix": '"><script>',
		});
		expect(hostile.body).toContain('<base href="/console/">');
		const script = await send("GET", "/console/assets/main-1.js", { host });
		expect(script.headers["content-type"]).toContain("javascript");
		expect(script.headers["cache-control"]).toContain("immutable");
		expect(script.body).toBe("export {};");
		const compressed = await send("GET", "/console/assets/main-1.js", {
			host,
			"accept-encoding": "gzip, br",
		});
		expect(compressed.body).toBe("compressed");
		expect(compressed.headers).toMatchObject({
			"content-encoding": "gzip",
			"content-type": script.headers["content-type"],
			vary: "accept-encoding",
		});
		// During an upgrade the other replica has the file: whoever kept the 404 would never ask it.
		for (const path of ["assets/none.js", "assets/..%2f..%2fcodes"]) {
			const answer = await send("GET", `/console/${path}`, { host });
			expect(answer.statusCode).toBe(404);
			expect(answer.headers["cache-control"]).toBe("no-store");
		}
	});
});
