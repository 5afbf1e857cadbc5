import type { FastifyInstance } from "fastify";
import { docsPage } from "./docs-page.ts";
import { openApiDocument } from "./openapi.ts";

/** `/v1/openapi.json` and `/docs`, for everybody: they say what there could be, and nothing of what there is. */
export function serveDocumentation(api: FastifyInstance): void {
	const document = openApiDocument();
	const json = JSON.stringify(document);
	const html = docsPage(document);
	api.get("/v1/openapi.json", (_request, reply) =>
		reply.type("application/json").send(json),
	);
	api.get("/docs", (_request, reply) =>
		reply
			.type("text/html; charset=utf-8")
			.header(
				"content-security-policy",
				"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
			)
			.send(html),
	);
}
