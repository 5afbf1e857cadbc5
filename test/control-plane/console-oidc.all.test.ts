// In make test: api/console/session-cookie.test.ts
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { loopbackNames } from "../../api/console/own-page.ts";
import { loadCluster } from "../../packages/kube/client/cluster.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import {
	type OidcIssuer,
	startOidcIssuer,
} from "../support/doubles/oidc-issuer.ts";
import {
	startApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { EndedHere } from "../support/fixtures/control-plane/without-nats.ts";
import {
	startControlPlane,
	type TestControlPlane,
} from "../support/servers/control-plane.ts";

/* People sign in to the console at an OpenID Connect provider whose ID tokens the apiserver takes. */

const host = "127.0.0.1:8090";
const begin = "/console/session/oidc";

let issuer: OidcIssuer;
let controlPlane: TestControlPlane;
let api: TestApi;
/** Of another client of the issuer, whose tokens the apiserver doesn't take. */
let strange: TestApi;

beforeAll(async () => {
	issuer = await startOidcIssuer();
	setDefaultCACertificates([...getCACertificates("default"), issuer.ca]);
	controlPlane = await startControlPlane(issuer);
	const { kubectl, kubeconfig } = controlPlane;
	const roles = join(
		import.meta.dirname,
		"../../charts/tidemill/files/rbac/roles.yaml",
	);
	await kubectl("apply", `--filename=${roles}`);
	await kubectl("create", "namespace", "shop");
	await kubectl(
		...["create", "rolebinding", "engineers", "--namespace=shop"],
		...["--clusterrole=tidemill-editor", "--group=oidc:engineers"],
	);
	const start = (clientSecret: string) =>
		startApi(loadCluster(kubeconfig), {
			isProxy: (address) => address === "127.0.0.1",
			console: {
				directory: "/nowhere",
				keys: new SealKey(randomBytes(32)),
				hosts: new Set(loopbackNames),
				ended: new EndedHere(),
				oidc: {
					issuer: issuer.url,
					clientId: issuer.clientId,
					clientSecret: () => clientSecret,
					scopes: "openid",
				},
				version: "1.2.3",
			},
		});
	api = await start(issuer.clientSecret);
	strange = await start("wrong");
});

afterAll(async () => {
	await api?.api.close();
	await strange?.api.close();
	await controlPlane?.stop();
	await issuer?.stop();
});

function get(url: string, headers: Record<string, string> = {}, from = api) {
	return from.api.inject({
		method: "GET",
		url,
		headers: { host, ...headers },
	});
}

/** The header by which a browser sends what an answer has set. */
function cookieOf({ cookies }: Awaited<ReturnType<typeof get>>): string {
	return (cookies as { name: string; value: string }[])
		.filter(({ value }) => value !== "")
		.map(({ name, value }) => `${name}=${value}`)
		.join("; ");
}

/** What the provider sends the browser back to, as the API's path. */
async function comeBack(location: string, login = "ada"): Promise<string> {
	const { pathname, search } = new URL(await issuer.signIn(location, login));
	return pathname + search;
}

const ownPage = { "tidemill-console": "1", "sec-fetch-site": "same-origin" };

test("a person signs in at the provider, and has the rights of their groups, and no others", async () => {
	const signedOut = await get("/console/session", ownPage);
	expect(signedOut.json().signIn).toMatchObject({ oidc: true });
	const sent = await get(begin);
	expect(sent.statusCode).toBe(303);
	const asked = new URL(sent.headers.location as string);
	expect(asked.searchParams.get("code_challenge_method")).toBe("S256");
	const back = await get(await comeBack(asked.href), {
		cookie: cookieOf(sent),
	});
	expect([back.statusCode, back.headers.location]).toEqual([
		303,
		`http://${host}/console/`,
	]);
	const set = [back.headers["set-cookie"]].flat().join("\n");
	expect(set).toMatch(/^tidemill-console=[^\n]*HttpOnly; SameSite=Strict/m);
	const cookie = cookieOf(back);
	// The apiserver reads what roles are bound in its own time.
	await vi.waitFor(
		async () => {
			const answer = await get("/console/session?namespace=shop", {
				...ownPage,
				cookie,
			});
			expect(answer.json()).toMatchObject({
				user: "oidc:ada",
				namespace: "shop",
				rights: { sources: expect.arrayContaining(["create"]) },
			});
		},
		{ timeout: 120_000 },
	);
	const other = { ...ownPage, cookie, "tidemill-account": "kube-system" };
	expect((await get("/v1/sources", other)).statusCode).toBe(403);
	// The token ends within hours, and the cookie with it.
	expect(set).toMatch(/^tidemill-console=[^\n]*Expires=/m);
});

test("nobody ends a sign-in that another browser has begun, and none ends twice", async () => {
	const [one, other] = await Promise.all([get(begin), get(begin)]);
	const back = await comeBack(one.headers.location as string);
	for (const cookie of [cookieOf(other), "", "tidemill-console-oidc=x.y"]) {
		const answer = await get(back, { cookie });
		expect(answer.statusCode).toBe(502);
		expect(cookieOf(answer)).toBe("");
		expect(answer.headers["content-security-policy"]).toContain(
			"default-src 'none'",
		);
	}
	const cookie = cookieOf(one);
	expect((await get(back, { cookie })).statusCode).toBe(303);
	expect((await get(back, { cookie })).statusCode).toBe(502);
});

test("a provider that refuses the client or the person is told of, without its words", async () => {
	const sent = await get(begin, {}, strange);
	const back = await comeBack(sent.headers.location as string);
	const answer = await get(back, { cookie: cookieOf(sent) }, strange);
	expect(answer.statusCode).toBe(502);
	expect(answer.body).toContain("sign-in at your provider failed");
	const refused = await get(
		`${begin}/callback?error=access_denied&error_description=<script>alert(1)</script>`,
		{ cookie: cookieOf(await get(begin)) },
	);
	expect(refused.statusCode).toBe(502);
	expect(refused.body).not.toContain("<script>");
});

test("behind a proxy with a path prefix and TLS the provider sends the browser back there; a foreign host begins nothing", async () => {
	const sent = await get(begin, {
		host: "localhost",
		"x-forwarded-prefix": "/tide",
		"x-forwarded-proto": "https",
	});
	const asked = new URL(sent.headers.location as string);
	expect(asked.searchParams.get("redirect_uri")).toBe(
		"https://localhost/tide/console/session/oidc/callback",
	);
	expect(sent.headers["set-cookie"]).toMatch(
		/^__Host-tidemill-console-oidc=.*Path=\/; Expires=.*; HttpOnly; Secure; SameSite=Lax/,
	);
	expect((await get(begin, { host: "evil.example" })).statusCode).toBe(403);
});

test.each([
	["pipelines/orders?namespace=shop", "pipelines/orders?namespace=shop"],
	["sources/k%C3%A4se?text=a%26b", "sources/k%C3%A4se?text=a%26b"],
	["https://evil.example/", ""],
	["//evil.example/console/", ""],
	["../docs", ""],
	["/console/../v1/sources", ""],
	["javascript:alert(1)", ""],
	// It would begin another sign-in.
	["session/oidc", ""],
	["x".repeat(10_000), ""],
])("who wanted the page %s is sent to the console's “%s”", async (page, to) => {
	const sent = await get(`${begin}?page=${encodeURIComponent(page)}`);
	const back = await get(await comeBack(sent.headers.location as string), {
		cookie: cookieOf(sent),
	});
	expect(back.headers.location).toBe(`http://${host}/console/${to}`);
});
