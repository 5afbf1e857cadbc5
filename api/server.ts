import { randomUUID } from "node:crypto";
// fastify: routing, parsing and draining of an HTTP API.
import fastify, {
	type FastifyInstance,
	type FastifyReply,
	type FastifyRequest,
	type HTTPMethods,
} from "fastify";
import { hasReason, type KubeClient } from "../kube/client/client.ts";
import type { Logger } from "../service/log.ts";
import { accepts } from "./accept.ts";
import { accountOf } from "./caller/account.ts";
import { ApiserverReadiness } from "./caller/apiserver-readiness.ts";
import {
	RateLimit,
	type RateLimitOptions,
	rateHeaders,
	rateLimited,
} from "./caller/rate-limit.ts";
import { bearerToken, Reception, type Visitor } from "./caller/reception.ts";
import { serveDocumentation } from "./document/documentation.ts";
import { type Operation, operations } from "./document/operations.ts";
import { RequestError, requestErrorOf } from "./errors.ts";
import type { Caller, Question } from "./handler.ts";
import { carryOutOnce, type RequestStore } from "./once/request-keys.ts";

export interface ApiOptions {
	/** A client of the apiserver that acts with this token and has no credentials of its own. */
	clientFor(token: string): KubeClient;
	rateLimit: RateLimitOptions;
	/** Where requests with an Idempotency-Key are kept; without it they are answered 503. */
	requests?: RequestStore | undefined;
	/** Addresses of proxies whose X-Forwarded-For is believed, as fastify's `trustProxy`. */
	trustedProxies?: string | undefined;
	log: Logger;
	/** Fires when the server is about to stop: who waits for a run's end is answered then. */
	stopping: AbortSignal;
}

/** As much as etcd takes of one object, less its metadata. */
const maxBodyBytes = 1024 * 1024;

const methods: HTTPMethods[] = [
	"GET",
	"HEAD",
	"POST",
	"PUT",
	"PATCH",
	"DELETE",
	"OPTIONS",
	"TRACE",
	"QUERY",
];

/** The REST façade (design §7): not listening yet. Nothing of a request reaches the apiserver but what handlers send. */
export function createApi(options: ApiOptions): FastifyInstance {
	const api = fastify({
		genReqId: () => randomUUID(),
		bodyLimit: maxBodyBytes,
		// Accepted requests are answered while stopping, as all others.
		return503OnClosing: false,
		routerOptions: { ignoreTrailingSlash: true },
		frameworkErrors: (error, request, reply) =>
			answerError(error, request, reply, options.log),
		...(options.trustedProxies && { trustProxy: options.trustedProxies }),
	});
	const readiness = new ApiserverReadiness();
	const reception = new Reception(
		options.clientFor,
		readiness,
		new RateLimit(options.rateLimit),
	);
	const visitors = new WeakMap<FastifyRequest, Visitor>();

	api.removeContentTypeParser("text/plain");
	acceptJson(api);
	api.addHook("onRequest", async (request, reply) => {
		reply.header("x-request-id", request.id);
		const visitor = await reception.receive(request);
		visitors.set(request, visitor);
		reply.headers(rateHeaders(visitor.rate));
		if (visitor.rate.isOver) throw rateLimited(visitor.rate);
	});
	for (const operation of operations)
		serve(api, operation, (request) => visitors.get(request)!, options);
	serveDocumentation(api);
	for (const path of new Set(operations.map(({ path }) => path)))
		refuseOtherMethods(api, path);
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
			"There is nothing here. GET /v1/openapi.json says what the API has; /docs is for people.",
		);
	});
	api.setErrorHandler(async (error, request, reply) => {
		const cause = hasReason(error, "Forbidden")
			? await readiness.judge(
					error,
					options.clientFor(bearerToken(request.headers.authorization)),
				)
			: error;
		answerError(cause, request, reply, options.log);
		return reply;
	});
	return api;
}

function serve(
	api: FastifyInstance,
	operation: Operation,
	visitorOf: (request: FastifyRequest) => Visitor,
	options: ApiOptions,
): void {
	const { method, path, handler, produces = "application/json" } = operation;
	api.route({
		method,
		url: fastifyPath(path),
		// Before the body is read: who may not ask need not send it.
		onRequest: async (request) => {
			visitorOf(request).requireIdentity();
			if (!accepts(request.headers.accept, produces))
				throw new RequestError(
					"NotAcceptable",
					`The answer is ${produces}, which Accept doesn't allow. Leave Accept out, or add that.`,
				);
		},
		handler: async (request, reply) => {
			const { identity, token } = visitorOf(request).requireIdentity();
			const caller = callerOf(request, reply, identity, token, options);
			const question = questionOf(request);
			const key = request.headers["idempotency-key"]?.toString();
			if (method !== "POST" || key === undefined)
				return handler(caller, question, reply);
			return carryOutOnce(
				options.requests,
				{
					account: caller.account,
					subject: identity.username,
					path: request.routeOptions.url + JSON.stringify(question.params),
					body: question.body,
					key,
				},
				async (once) =>
					(await handler(caller, { ...question, once }, reply)) as {
						name: string;
					},
			);
		},
	});
}

function callerOf(
	request: FastifyRequest,
	reply: FastifyReply,
	identity: Parameters<typeof accountOf>[0],
	token: string,
	{ clientFor, stopping }: ApiOptions,
): Caller {
	const account = accountOf(
		identity,
		request.headers["tidemill-account"]?.toString(),
	);
	return {
		client: clientFor(token),
		account,
		// Made only for the few that wait: it costs as much as the rest of a caller.
		get gone() {
			const closed = new AbortController();
			if (reply.raw.closed) closed.abort();
			reply.raw.once("close", () => closed.abort());
			return AbortSignal.any([stopping, closed.signal]);
		},
	};
}

function questionOf({
	params,
	query,
	body,
	headers,
}: FastifyRequest): Question {
	const question: Question = {
		params: params as Record<string, string>,
		query: firstValues(query as Record<string, string | string[]>),
		body,
		ifMatch: headers["if-match"],
		once: undefined,
	};
	// A name becomes part of a path: nothing but what an object can be called may pass.
	for (const name of Object.values(question.params))
		if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name!))
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

function refuseOtherMethods(api: FastifyInstance, path: string): void {
	const allowed = operations
		.filter((operation) => operation.path === path)
		.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
	const allow = allowed.join(", ");
	api.route({
		method: methods.filter((method) => !allowed.includes(method)),
		url: fastifyPath(path),
		onRequest: () => {
			throw new RequestError(
				"MethodNotAllowed",
				`This method has no meaning here. Use ${allow}.`,
				{ headers: { allow } },
			);
		},
		handler: () => undefined,
	});
}

function fastifyPath(path: string): string {
	return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

function answerError(
	error: unknown,
	request: FastifyRequest,
	reply: FastifyReply,
	log: Logger,
): void {
	const answer = requestErrorOf(error);
	if (answer.status >= 500)
		log.error({ request: request.id, err: error }, "failed");
	reply.code(answer.status).headers(answer.headers).send(answer.toJSON());
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
			else void parse(request, body, done);
		},
	);
}
