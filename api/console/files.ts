import { readFile } from "node:fs/promises";
import { join } from "node:path";
// Serves the built console's files, with types, ETags and ranges: fastify's own plugin.
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Scripts and styles of our own origin alone, no text that becomes markup (Trusted Types), and no frame around it. */
const policy = [
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"img-src 'self' data:",
	"font-src 'self'",
	"connect-src 'self'",
	"manifest-src 'self'",
	"base-uri 'self'",
	"form-action 'self'",
	"frame-ancestors 'none'",
	"require-trusted-types-for 'script'",
	"trusted-types 'none'",
].join("; ");

/** Of each page of the console. */
export const pageHeaders = {
	"content-security-policy": policy,
	"cross-origin-opener-policy": "same-origin",
	"cross-origin-resource-policy": "same-origin",
	"referrer-policy": "no-referrer",
	"x-content-type-options": "nosniff",
	"x-frame-options": "DENY",
};

interface FileOptions {
	/** What `npm run console:build` writes. */
	directory: string;
	/** Whether the address is of a proxy whose X-Forwarded-Prefix is trusted. */
	isProxy: (address: string) => boolean;
}

const pageRoutes = ["/console", "/console/*"];
const assetsRoute = "/console/assets/*";
/** Files whose names stay, each with how long a browser keeps it. */
const namedFiles = {
	"/console/icon.svg": "public, max-age=3600",
	// Which build the API serves, and what loads the page again if one of its files is of another. Both must be of now.
	"/console/build.json": "no-store",
	"/console/missing-file.js": "no-cache",
};
const fileRoutes = new Set([
	...[...pageRoutes, assetsRoute],
	...Object.keys(namedFiles),
]);

/**
 * Whether the request is for a file or page of the console, which anybody may read. The route says so, not the address, in which
 * `%73ession` is the session, too.
 */
export function isConsoleFile({ routeOptions }: FastifyRequest): boolean {
	return fileRoutes.has(routeOptions.url ?? "");
}

/** `GET /console/…`: the built files; every other path is a page of the app, which looks at the path itself. */
export function serveFiles(api: FastifyInstance, options: FileOptions): void {
	const { directory, isProxy } = options;
	void api.register(fastifyStatic, {
		root: directory,
		serve: false,
		cacheControl: false,
		// The build has each file compressed beside it.
		preCompressed: true,
	});
	const page = async (request: FastifyRequest, reply: FastifyReply) => {
		reply.headers(pageHeaders).type("text/html; charset=utf-8");
		const index = await readFile(join(directory, "index.html"), "utf8").catch(
			() => undefined,
		);
		if (index === undefined) {
			const headers = { "retry-after": "10", "cache-control": "no-store" };
			return reply.code(503).headers(headers).send(notBuilt);
		}
		// A new version of the console has new names for its scripts.
		reply.header("cache-control", "no-cache");
		const prefix = pathPrefix(request, isProxy);
		// As it is written in console/index.html, which the build may change.
		return index.replace(
			/<base href="\/console\/"\s*\/?>/,
			`<base href="${prefix}/console/">`,
		);
	};
	const file =
		(maxAge: string) =>
		(
			request: FastifyRequest<{ Params: { "*": string } }>,
			reply: FastifyReply,
		) => {
			reply.headers({ ...pageHeaders, "cache-control": maxAge });
			const { pathname } = new URL(request.url, "http://console");
			return reply.sendFile(pathname.slice("/console/".length));
		};
	for (const route of pageRoutes) api.get(route, page);
	api.get(assetsRoute, file("public, max-age=31536000, immutable"));
	for (const [route, maxAge] of Object.entries(namedFiles))
		api.get(route, file(maxAge) as never);
}

/** A path that a trusted proxy takes off before the API sees it; nothing that isn't plainly a path. */
export function pathPrefix(
	{ socket, headers }: FastifyRequest,
	isProxy: (address: string) => boolean,
): string {
	if (!isProxy(socket.remoteAddress ?? "")) return "";
	const header = headers["x-forwarded-prefix"];
	const text = [header].flat()[0]?.replace(/\/+$/, "") ?? "";
	return /^(?:\/[\w.~-]+)+$/.test(text) ? text : "";
}

const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Tidemill</title>
<h1>The console isn't built yet</h1>
<p><code>make up</code> builds it in the background: load this page again in a few seconds. To build it by hand: <code>npm run console:build</code>.</p>
</html>
`;
