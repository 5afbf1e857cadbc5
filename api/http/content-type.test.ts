import fastify from "fastify";
import { expect, test } from "vitest";
import { accepts, parseJsonBodies } from "./content-type.ts";

test.each([
	['{"a":1}', 200, '{"a":1}'],
	['\ufeff{"a":1}', 200, '{"a":1}'],
	['\ufeff{"a":9007199254740993}', 200, '{"a":9007199254740993}'],
	['\ufeff\ufeff{"a":1}', 400, undefined],
	['{"a":1', 400, undefined],
	['{"__proto__":9007199254740993}', 400, undefined],
])("a body of %j is answered with %i", async (body, status, said) => {
	const api = fastify();
	parseJsonBodies(api);
	api.post("/", ({ body }) => body);
	const answer = await api.inject({
		method: "POST",
		url: "/",
		headers: { "content-type": "application/json" },
		body,
	});
	expect(answer.statusCode).toBe(status);
	if (said) expect(answer.body).toBe(said);
});

test.each([
	undefined,
	"",
	"*/*",
	"application/json",
	"Application/*;q=0.1",
	"text/html, application/json;charset=utf-8;q=0.5",
	"application/json, */*;q=0",
])("Accept: %s allows JSON", (accept) => {
	expect(accepts(accept, "application/json")).toBe(true);
});

test.each([
	"text/html",
	"application/json;q=0",
	"application/json;q=0, */*",
	"text/*",
	"text/html, */*;q=0",
])("Accept: %s allows no JSON", (accept) => {
	expect(accepts(accept, "application/json")).toBe(false);
});
