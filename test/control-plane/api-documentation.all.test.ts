// In make test: test/control-plane/api.laptop.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OpenApiDocument } from "../../api/document/openapi.ts";
import { endpoints } from "../../api/endpoints.ts";
import { apiResources } from "../../api/resources/api-resource.ts";
import {
	type ApiClient,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { schemaValidators } from "../support/fixtures/control-plane/openapi-answers.ts";

let api: TestApi;
let editor: ApiClient;
let document: OpenApiDocument;

beforeAll(async () => {
	api = await startApi();
	const { tokens } = await newAccount();
	editor = apiClient(api.url, tokens.editor);
	const { body } = await editor("GET", "/v1/openapi.json");
	document = body as unknown as OpenApiDocument;
});

afterAll(() => api.api.close());

test("the OpenAPI document is for everybody, and has every operation", async () => {
	const response = await fetch(`${api.url}/v1/openapi.json`);
	expect(response.status).toBe(200);
	expect(response.headers.get("x-ratelimit-limit")).not.toBeNull();
	expect(document.openapi).toBe("3.1.0");
	const described = Object.values(document.paths).flatMap((item) =>
		Object.values(item).map(({ operationId }) => operationId),
	);
	expect(described.sort()).toEqual(endpoints.map(({ id }) => id).sort());
});

test("every reference in it leads somewhere", () => {
	const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)];
	expect(refs.length).toBeGreaterThan(100);
	for (const [, path] of refs) {
		const found = path!
			.split("/")
			.reduce<unknown>(
				(value, part) => (value as Record<string, unknown>)?.[part],
				document,
			);
		expect(found, path).toBeDefined();
	}
});

test.each(apiResources)(
	"the example of a $noun is accepted, and the answer is as its schema says",
	async ({ collection, example, kind }) => {
		const { status, body } = await editor("POST", `/v1/${collection}`, example);
		expect(body.code).toBeUndefined();
		expect(status).toBe(201);
		const validate = schemaValidators(document)(kind.kind);
		validate(body);
		expect(validate.errors).toBeNull();
	},
);

test("the docs page loads nothing from other hosts", async () => {
	const response = await fetch(`${api.url}/docs`);
	const below = await fetch(`${api.url}/v1/docs`);
	expect(below.headers.get("content-type")).toContain("text/html");
	expect(response.headers.get("content-type")).toContain("text/html");
	expect(response.headers.get("content-security-policy")).toContain(
		"default-src 'none'",
	);
	const page = await response.text();
	const articles = page.split("<article ");
	for (const { id, method, path } of endpoints) {
		const article = articles.find((each) => each.startsWith(`id="${id}"`))!;
		// test/local-mode/api-samples.all.test.ts carries the commands out, with the names that they have here.
		const [route] = path.slice("/v1".length).split("{");
		expect(article).toContain(`$TIDEMILL_API_URL${route}`);
		const statuses = Object.keys(
			document.paths[path]![method.toLowerCase()]!.responses,
		);
		for (const status of statuses)
			expect(article).toContain(`<code>${status}</code>`);
		if (method === "POST") expect(article).toContain("<code>Idempotency-Key:");
	}
	expect(page).toContain("<code>If-Match:");
	expect(page).toContain("X-RateLimit-Reset");
	expect(page).not.toMatch(/<(script|link|img|iframe)|url\(|@import/);
	expect(page).not.toMatch(/(src|href)="?(https?:)?\/\//);
});

test.each(["OPTIONS", "TRACE", "PUT"])("%s is 405", async (method) => {
	// fetch itself refuses TRACE.
	const { send } = await import("../support/senders/http-client.ts");
	const { status, headers } = await send(`${api.url}/v1/sources`, { method });
	expect([status, headers.allow]).toEqual([405, "GET, HEAD, POST"]);
});

test.each([
	["application/xml", 406],
	["text/html;q=0.9, application/json;q=0", 406],
	["text/html, */*;q=0.1", 200],
])("Accept: %s is answered %d", async (accept, status) => {
	const answer = await editor("GET", "/v1/runs", undefined, { accept });
	expect(answer.status).toBe(status);
});
