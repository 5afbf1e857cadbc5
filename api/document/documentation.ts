import type { FastifyInstance } from "fastify";
import type { Operation } from "../http/endpoint.ts";
import { docsPage } from "./docs-page.ts";
import { openApiDocument } from "./openapi.ts";

// Not @fastify/swagger: it makes the document of the routes' schemas, which fastify would compile and judge by one after another.
// Bodies are judged by the CRDs' schemas, all errors at once, and both that and the document come from the CRDs.
/** Serves `/v1/openapi.json` and `/docs`, also under the API's own base, without authentication: they describe the API and reveal nothing of any account. */
export function serveDocumentation(
	api: FastifyInstance,
	operations: Operation[],
): void {
	const document = openApiDocument(operations);
	const json = JSON.stringify(document);
	const html = docsPage(document, operations);
	api.get("/v1/openapi.json", (_request, reply) =>
		reply.type("application/json").send(json),
	);
	// An ingress may lead only the API's base here.
	for (const path of ["/docs", "/v1/docs"])
		api.get(path, (_request, reply) =>
			reply
				.type("text/html; charset=utf-8")
				.header(
					"content-security-policy",
					"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
				)
				.send(html),
		);
}
