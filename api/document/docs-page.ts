import type { FastifyInstance } from "fastify";
import type { SchemaObject } from "../../crds/json-schema.ts";
import { htmlText } from "../../packages/escapes/markup.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { errorCodes } from "../http/errors.ts";
import { type OpenApiDocument, openApiDocument } from "./openapi.ts";

/** The API documentation for people: one HTML page that loads nothing else. */
// Not a package's page: docs/decisions/0040-the-api-s-page-has-no-script.md.
function docsPage(document: OpenApiDocument, endpoints: Endpoint[]): string {
	const { info, tags, components } = document;
	// What refers to others goes first, and each name is there until then.
	const deletions = endpoints.filter(isDeletion).toReversed();
	return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${htmlText(info.title)} API</title>
<style>${style}</style>
<header>
<h1>${htmlText(info.title)} API</h1>
<p>${prose(info.description)}</p>
<p>${prose(components.securitySchemes.token.description)}</p>
<p>Every answer has <code>X-RateLimit-Limit</code>, <code>X-RateLimit-Remaining</code> and <code>X-RateLimit-Reset</code> (in seconds); beyond the limit it is <code>429</code> with <code>Retry-After</code>. The curl commands take the address and the token from <code>TIDEMILL_API_URL</code> and <code>TIDEMILL_API_TOKEN</code>. Run them in the order of this page: each finds what the ones before it have made.</p>
<p>For machines: <a href="/v1/openapi.json">OpenAPI 3.1</a>.</p>
<nav>${tags.map(({ name }) => `<a href="#${name}">${htmlText(name)}</a>`).join(" ")} <a href="#deletions">deletions</a> <a href="#schemas">bodies</a> <a href="#errors">errors</a></nav>
</header>
${tags
	.map(({ name }) =>
		section(
			name,
			document,
			endpoints.filter((each) => each.tag === name && !isDeletion(each)),
		),
	)
	.join("\n")}
${section("deletions", document, deletions)}
<section id="schemas"><h2>Bodies</h2>
${Object.entries(components.schemas)
	.map(
		([name, schema]) =>
			`<article id="${name}"><h3>${name}</h3>${prose(String(schema.description ?? ""))}${exampleOf(schema)}${fields(schema)}</article>`,
	)
	.join("\n")}
</section>
<section id="errors"><h2>Errors</h2>
${Object.entries(errorCodes)
	.map(
		([code, { status, title, advice }]) =>
			`<article id="${code}"><h3><code>${status}</code> ${code}</h3><p>${htmlText(title)}. ${prose(advice)}</p></article>`,
	)
	.join("\n")}
</section>
</html>
`;
}

const style = `
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:auto;padding:1rem;color:#1b1f24;background:#fff}
nav a{margin-right:1rem}code,pre{font:14px/1.4 ui-monospace,monospace;background:#f2f4f7;border-radius:4px}
code{padding:0 .25em}pre{padding:.75rem;overflow:auto}article{border-top:1px solid #d8dde3;padding:.5rem 0}
.method{display:inline-block;min-width:4.5rem;font-weight:600}ul{padding-left:1.25rem}
@media(prefers-color-scheme:dark){body{color:#e6e9ed;background:#14171a}code,pre{background:#23272d}a{color:#7db7ff}article{border-color:#343a42}}
`;

const isDeletion = ({ method }: Endpoint) => method === "DELETE";

function section(
	name: string,
	document: OpenApiDocument,
	endpoints: Endpoint[],
): string {
	return `<section id="${name}"><h2>${htmlText(name)}</h2>
${endpoints.map((endpoint) => article(endpoint, document)).join("\n")}
</section>`;
}

function article(endpoint: Endpoint, document: OpenApiDocument): string {
	const { id, method, path, summary, body, answers } = endpoint;
	const {
		parameters: given,
		responses,
		"x-codeSamples": samples,
	} = document.paths[path]![method.toLowerCase()]!;
	const parameters = ["query", "header"].flatMap((place) =>
		given
			.map((parameter) => resolved(parameter, document))
			.filter((parameter) => parameter.in === place)
			.map(({ name, description, schema }) => {
				const written = place === "query" ? `?${name}=` : `${name}:`;
				const values = schema?.enum ? ` One of ${schema.enum.join(", ")}.` : "";
				return `<li><code>${written}</code> ${prose(`${description!}${values}`)}</li>`;
			}),
	);
	const errors = Object.entries(responses)
		.filter(([status]) => !(status in answers))
		.map(([status, response]) => {
			const { description = "" } = resolved(response, document);
			const codes = [...description.matchAll(/\w+(?=`)/g)].map(
				([code]) => code,
			);
			return `<li><code>${status}</code> ${codes.map(linkTo).join(" or ")}</li>`;
		});
	const outcomes = Object.entries(answers).map(
		([status, { about, schema }]) =>
			`<li><code>${status}</code> ${htmlText(about)} ${linkTo(schema)}</li>`,
	);
	return `<article id="${id}">
<h3><span class="method">${method}</span> <code>${htmlText(path)}</code></h3>
<p>${htmlText(summary)}.${body ? ` Body: ${linkTo(body.schema)}${body.isRequired ? "" : " (optional)"}.` : ""}</p>
<ul>${parameters.join("")}${outcomes.join("")}${errors.join("")}</ul>
<pre class="curl">${htmlText(samples[0]!.source)}</pre>
${exampleAnswer(responses)}</article>`;
}

/** The example of the last successful answer that has a body: a creation's, not that of its dry run. */
function exampleAnswer(responses: object): string {
	const examples = Object.values(responses as Record<string, Answer>).flatMap(
		({ content }) => Object.values(content ?? {}).map(({ example }) => example),
	);
	const example = examples.at(-1);
	if (example === undefined) return "";
	const written =
		typeof example === "string" ? example : JSON.stringify(example, null, 2);
	return `<details><summary>Example answer</summary><pre>${htmlText(written)}</pre></details>\n`;
}

interface Answer {
	content?: Record<string, { example?: unknown }>;
}

/** What a `$ref` of the document leads to. */
function resolved(
	value: object,
	document: OpenApiDocument,
): {
	name?: string;
	in?: string;
	description?: string;
	schema?: { enum?: string[] };
} {
	if (!("$ref" in value)) return value;
	const [, , section, name] = String(value.$ref).split("/");
	const { components } = document as unknown as {
		components: Record<string, Record<string, object>>;
	};
	return components[section!]![name!]!;
}

function fields(schema: SchemaObject): string {
	const properties = Object.entries(
		(schema.properties ?? {}) as Record<string, SchemaObject>,
	);
	if (properties.length === 0) return "";
	const required = (schema.required ?? []) as string[];
	const items = properties.map(([name, field]) => {
		const inner = (field.items ?? field) as SchemaObject;
		return `<li><code>${htmlText(name)}</code>${required.includes(name) ? "*" : ""} <em>${htmlText(typeOf(field))}</em> ${prose(String(field.description ?? ""))}${fields(inner)}</li>`;
	});
	return `<ul>${items.join("")}</ul>`;
}

function typeOf({ type, $ref, items, enum: values }: SchemaObject): string {
	if (Array.isArray(values))
		return values.map((value) => JSON.stringify(value)).join(" | ");
	if (typeof $ref === "string") return nameOf($ref);
	const name = [type].flat().join(" | ");
	return items ? `${name} of ${typeOf(items as SchemaObject)}` : name;
}

function exampleOf({ examples }: SchemaObject): string {
	const [first] = (examples ?? []) as object[];
	return first ? `<pre>${htmlText(JSON.stringify(first, null, 2))}</pre>` : "";
}

function linkTo(schema: string | undefined): string {
	return schema ? `<a href="#${schema}">${schema}</a>` : "";
}

function nameOf(ref: string): string {
	return ref.split("/").at(-1)!;
}

/** Markdown text in which only \`…\` has a meaning. */
function prose(markdown: string): string {
	return htmlText(markdown).replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}

// Not @fastify/swagger: it makes the document of the routes' schemas, which fastify would compile.
// Bodies are validated by the CRDs' schemas, all errors at once, and both that and the document come from the CRDs.
/** Serves `/v1/openapi.json` and `/docs`, also under the API's own base, without authentication: they describe the API and reveal nothing of any account. */
export function serveDocumentation(
	api: FastifyInstance,
	endpoints: Endpoint[],
): void {
	const document = openApiDocument(endpoints);
	const json = JSON.stringify(document);
	const html = docsPage(document, endpoints);
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
