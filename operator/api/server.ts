import { randomUUID } from "node:crypto";
// fastify: routing, parsing and draining of an HTTP API.
import fastify, {
	type FastifyInstance,
	type FastifyReply,
	type FastifyRequest,
	type HTTPMethods,
} from "fastify";
import type { Logger } from "../../service/log.ts";
import type { KubeClient } from "../kube/client.ts";
import { accountOf } from "./account.ts";
import { RequestError, requestErrorOf, unauthorized } from "./errors.ts";
import type { Caller, Question } from "./handler.ts";
import { type Identity, IdentityCache } from "./identity-cache.ts";
import { routes } from "./routes.ts";

export interface ApiOptions {
	/** A client of the apiserver that acts with this token and has no credentials of its own. */
	clientFor(token: string): KubeClient;
	log: Logger;
	/** Fires when the server is about to stop: who waits for a run's end is answered then. */
	stopping: AbortSignal;
}

/** As much as etcd takes of one object, less its metadata. */
const maxBodyBytes = 1024 * 1024;

const methods: HTTPMethods[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** The REST façade (design §7): not listening yet. Nothing of a request reaches the apiserver but what handlers send. */
export function createApi(options: ApiOptions): FastifyInstance {
	const api = fastify({
		genReqId: () => randomUUID(),
		bodyLimit: maxBodyBytes,
		// Accepted requests are answered while stopping, as all others.
		return503OnClosing: false,
		routerOptions: { ignoreTrailingSlash: true },
	});
	const identities = new IdentityCache((token) =>
		askWhoIs(options.clientFor(token)),
	);

	api.removeContentTypeParser("text/plain");
	acceptJson(api);
	for (const [path, handlers] of Object.entries(routes)) {
		for (const [method, handler] of Object.entries(handlers))
			api.route({
				method,
				url: path,
				handler: async (request, reply) => {
					const caller = await callerOf(request, reply, identities, options);
					return handler(caller, questionOf(request), reply);
				},
			});
		const allowed = Object.keys(handlers);
		api.route({
			method: methods.filter((method) => !allowed.includes(method)),
			url: path,
			handler: () => {
				throw methodNotAllowed(allowed);
			},
		});
	}

	api.addHook("onRequest", async (request, reply) => {
		reply.header("x-request-id", request.id);
	});
	api.addHook("onResponse", async (request, reply) => {
		options.log.info(
			{
				request: request.id,
				method: request.method,
				route: request.routeOptions.url,
				status: reply.statusCode,
				ms: Math.round(reply.elapsedTime),
			},
			"answered",
		);
	});
	api.setNotFoundHandler(() => {
		throw new RequestError(
			"NotFound",
			`There is nothing here. The API has ${Object.keys(routes).join(", ")}.`,
		);
	});
	api.setErrorHandler((error, request, reply) => {
		const answer = requestErrorOf(error);
		if (answer.status >= 500)
			options.log.error({ request: request.id, err: error }, "failed");
		reply.code(answer.status).headers(answer.headers).send(answer.toJSON());
	});
	return api;
}

async function callerOf(
	request: FastifyRequest,
	reply: FastifyReply,
	identities: IdentityCache,
	{ clientFor, stopping }: ApiOptions,
): Promise<Caller> {
	const token = bearerToken(request.headers.authorization);
	const account = accountOf(
		await identities.identityOf(token),
		request.headers["tidemill-account"]?.toString(),
	);
	const closed = new AbortController();
	reply.raw.once("close", () => closed.abort());
	return {
		client: clientFor(token),
		account,
		gone: AbortSignal.any([stopping, closed.signal]),
	};
}

/** RFC 6750 §2.1. */
function bearerToken(header: string | undefined): string {
	if (header === undefined) throw unauthorized("missing");
	const token = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header)?.[1];
	if (token === undefined) throw unauthorized("invalid");
	return token;
}

async function askWhoIs(client: KubeClient): Promise<Identity> {
	const apiVersion = "authentication.k8s.io/v1";
	const answer = (await client.raw(
		"POST",
		`/apis/${apiVersion}/selfsubjectreviews`,
		{ body: { apiVersion, kind: "SelfSubjectReview" } },
	)) as { status: { userInfo: { username: string; groups?: string[] } } };
	const { username, groups = [] } = answer.status.userInfo;
	return { username, groups };
}

function questionOf({
	params,
	query,
	body,
	headers,
}: FastifyRequest): Question {
	const question = {
		params: params as Record<string, string>,
		query: firstValues(query as Record<string, string | string[]>),
		body,
		ifMatch: headers["if-match"],
	};
	// A name becomes part of a path: nothing but what an object can be called may pass.
	for (const name of Object.values(question.params))
		if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
			throw new RequestError("NotFound", `Nothing can be called "${name}".`);
	return question;
}

function firstValues(
	query: Record<string, string | string[]>,
): Record<string, string> {
	return Object.fromEntries(
		Object.entries(query).map(([name, value]) => [name, [value].flat()[0]!]),
	);
}

function methodNotAllowed(allowed: string[]): RequestError {
	const allow = allowed
		.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
		.join(", ");
	return new RequestError(
		"MethodNotAllowed",
		`This method has no meaning here. Use ${allow}.`,
		{ headers: { allow } },
	);
}

/** JSON, and nothing at all: many clients name a content type even where they send nothing. */
function acceptJson(api: FastifyInstance): void {
	const parse = api.getDefaultJsonParser("error", "error");
	api.removeContentTypeParser("application/json");
	api.addContentTypeParser<string>(
		["application/json", "application/merge-patch+json"],
		{ parseAs: "string" },
		(request, body, done) => {
			if (body === "") done(null, undefined);
			else parse(request, body, done);
		},
	);
}
