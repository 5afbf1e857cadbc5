import { randomUUID } from "node:crypto";
// fastify: routing, parsing and draining of an HTTP API.
import fastify, {
	type FastifyInstance,
	type FastifyReply,
	type FastifyRequest,
	type HTTPMethods,
} from "fastify";
import type { KubeClient } from "../packages/kube/client/client.ts";
import { boundConnections } from "../packages/service/bounded-connections.ts";
import type { Logger } from "../packages/service/log.ts";
import { accountOf, rateSubjectOf } from "./caller/account.ts";
import { type Authentication, Authenticator } from "./caller/authenticator.ts";
import { OpenRequests } from "./caller/open-requests.ts";
import {
	RateLimit,
	type RateLimitOptions,
	rateHeaders,
	rateLimited,
} from "./caller/rate-limit.ts";
import { Console, type ConsoleOptions } from "./console/console.ts";
import { isConsoleFile } from "./console/files.ts";
import { serveDocumentation } from "./document/docs-page.ts";
import { endpoints } from "./endpoints.ts";
import { callersOnly, keepAnswersFromCaches } from "./http/callers-only.ts";
import {
	type ConnectionLimits,
	connectionOptions,
	refuseUnreadable,
	usualLimits,
} from "./http/connections.ts";
import { accepts, parseJsonBodies } from "./http/content-type.ts";
import {
	type ApiRequest,
	type ArchiveClient,
	type Endpoint,
	type IdempotentRequest,
	isObject,
	type RateClass,
	type ReceiveClient,
} from "./http/endpoint.ts";
import { requestErrorOf } from "./http/error-translation.ts";
import { problemType, RequestError } from "./http/errors.ts";
import {
	type IdempotencyStore,
	performOnce,
	requireKey,
} from "./http/idempotency-key.ts";
import { schemaOf, validatorOf } from "./http/query.ts";
import type { RequestMetrics } from "./http/request-metrics.ts";
import { watchedKinds } from "./resources/changes.ts";
import { NewestIndex } from "./resources/newest-index.ts";
import { SharedWatches } from "./resources/shared-watch.ts";

export interface ApiOptions {
	/** A client of the apiserver that acts with this token and has no credentials of its own. */
	clientFor(token: string): KubeClient;
	rateLimit: RateLimitOptions;
	idempotency: IdempotencyStore;
	archive: ArchiveClient;
	receive: ReceiveClient;
	/** Whether the address is of a proxy whose X-Forwarded-For is trusted. */
	isProxy?: (address: string) => boolean;
	connections?: ConnectionLimits | undefined;
	/** Undefined if no console is served. */
	console?: ConsoleOptions | undefined;
	/** How long an answer waits until a resource shows what was done to it. Default 5 s. */
	settleWithinMs?: number;
	/** Counts what is answered. */
	metrics?: Pick<RequestMetrics, "count"> | undefined;
	log: Logger;
	/** Fires when the server begins to stop. Requests that wait for a run are answered then. */
	stopping: AbortSignal;
}

/** 200 people whose tokens are of one namespace, or one who looks through the bodies of many events. */
const pages: RateClass = { name: "console", times: 20 };
/** etcd's limit for one object, less its metadata. */
const maxBodyBytes = 1024 * 1024;

/** The REST API, not listening yet. Only what handlers send reaches the apiserver. */
export function createApi(options: ApiOptions): FastifyInstance {
	const { connections = usualLimits, isProxy } = options;
	const api = fastify({
		...connectionOptions(connections),
		genReqId: () => randomUUID(),
		bodyLimit: maxBodyBytes,
		// Requests accepted while stopping are answered like any other.
		return503OnClosing: false,
		routerOptions: { ignoreTrailingSlash: true },
		// No hook sees these.
		frameworkErrors: (error, request, reply) =>
			answerError(error, request, reply.headers(callersOnly), options.log),
		...(isProxy && { trustProxy: isProxy }),
	});
	boundConnections(api.server, {
		most: connections.maxConnections,
		isProxy,
		refuse: refuseUnreadable,
	});
	const authenticator = new Authenticator(
		options.clientFor,
		new RateLimit(options.rateLimit),
	);
	const openRequests = new OpenRequests(connections, maxBodyBytes);
	const authentications = new WeakMap<FastifyRequest, Authentication>();
	const authenticate = (
		request: FastifyRequest,
		reply: FastifyReply,
		rateClass?: RateClass,
	) => authenticator.authenticate(request, () => closeOf(reply), rateClass);
	const visitors = options.console && new Console(options.console);
	const identityOf = (request: FastifyRequest) =>
		authentications.get(request)!.requireIdentity();

	api.decorate("archive", options.archive);
	api.decorate("receive", options.receive);
	api.decorate("clientFor", options.clientFor);
	api.decorate("apiLog", options.log);
	const watches = new SharedWatches(options.log);
	api.decorate("sharedWatches", watches);
	const newestIndex = new NewestIndex(watches, watchedKinds);
	api.decorate("newestIndex", newestIndex);
	api.addHook("onClose", async () => newestIndex.close());
	for (const name of ["client", "account", "settleWithinMs", "whenGone"])
		api.decorateRequest(name);
	api.decorateRequest("idempotency", undefined);
	api.setValidatorCompiler(validatorOf);
	parseJsonBodies(api);
	keepAnswersFromCaches(api, isConsoleFile);
	api.addHook("onRequest", async (request, reply) => {
		reply.header("x-request-id", request.id);
		if (visitors && isConsoleFile(request)) return;
		// Pages that are open cost the account's programs no request.
		const rateClass = (await visitors?.admit(request, reply))
			? pages
			: request.routeOptions.config?.rateClass;
		const authentication = await authenticate(request, reply, rateClass);
		authentications.set(request, authentication);
		const { rate, isAuthenticated } = authentication;
		reply.headers(rateHeaders(rate));
		if (rate.isExceeded) throw rateLimited(rate, isAuthenticated);
		if (!isAuthenticated) return;
		const { identity } = authentication.requireIdentity();
		openRequests.open(request, reply, rateSubjectOf(identity));
	});
	openRequests.countAnswers(api);
	for (const endpoint of endpoints) serve(api, endpoint, identityOf, options);
	serveDocumentation(api, endpoints);
	// Relative, because a proxy may serve the API under a path of its own.
	api.get("/", (_, reply) => reply.redirect(visitors ? "console/" : "docs"));
	visitors?.serve(api, {
		clientFor: options.clientFor,
		isProxy: isProxy ?? (() => false),
		authenticate,
		identityOf,
	});
	for (const path of new Set(endpoints.map(({ path }) => path)))
		refuseOtherMethods(api, path, endpoints);
	api.addHook("onResponse", async (request, reply) => {
		options.metrics?.count({
			method: request.method,
			route: request.routeOptions.url,
			status: reply.statusCode,
			seconds: reply.elapsedTime / 1_000,
		});
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
			"There is no such path. GET /v1/openapi.json lists all paths; /docs is the same for people.",
		);
	});
	api.setErrorHandler(async (error, request, reply) => {
		const cause = await authenticator.causeOf(error, request);
		answerError(cause, request, reply, options.log);
		return reply;
	});
	return api;
}

function serve(
	api: FastifyInstance,
	endpoint: Endpoint,
	identityOf: (
		request: FastifyRequest,
	) => ReturnType<Authentication["requireIdentity"]>,
	options: ApiOptions,
): void {
	const { method, path, handler, produces = "application/json" } = endpoint;
	const { idempotency, stopping, settleWithinMs = 5_000 } = options;
	api.route({
		method,
		url: fastifyPath(path),
		schema: schemaOf(endpoint),
		config: endpoint.hasOwnRate ? { rateClass: { name: endpoint.id } } : {},
		// Before the body is read, so that a caller without access need not send it.
		onRequest: async (request) => {
			identityOf(request);
			if (!accepts(request.headers.accept, produces))
				throw new RequestError(
					"NotAcceptable",
					`The response is ${produces}, which Accept excludes. Omit Accept or include that type.`,
				);
		},
		preValidation: async (request, reply) => {
			const { identity, token } = identityOf(request);
			const { prefer, "tidemill-account": account } = request.headers;
			request.account = accountOf(identity, account?.toString());
			request.client = options.clientFor(token);
			// RFC 7240 §4.1.
			const isAsync = /\brespond-async\b/i.test(prefer?.toString() ?? "");
			request.settleWithinMs = isAsync ? 0 : settleWithinMs;
			// A function: few handlers wait, and the signal costs as much as the rest.
			request.whenGone = () => AbortSignal.any([stopping, closeOf(reply)]);
		},
		preHandler: async ({ body }) => {
			const isAbsent = body === undefined && !endpoint.body?.isRequired;
			if (endpoint.body && !isAbsent && !isObject(body))
				throw new RequestError(
					"InvalidRequest",
					"The body must be a JSON object.",
				);
		},
		handler: async (request, reply) => {
			const { body } = request;
			const perform = (once?: IdempotentRequest) => {
				request.idempotency = once;
				request.body = isObject(body) ? body : {};
				return handler(request as ApiRequest, reply);
			};
			const key = request.headers["idempotency-key"]?.toString();
			if (method !== "POST" || key === undefined) return perform();
			requireKey(key);
			// A dry run has no effect that could be repeated.
			const { dryRun } = request.query as Record<string, unknown>;
			if (dryRun === "true") return perform();
			return performOnce(
				idempotency,
				{
					account: request.account,
					subject: identityOf(request).identity.username,
					path: request.routeOptions.url + JSON.stringify(request.params),
					body,
					key,
				},
				async (once) => (await perform(once)) as { name: string },
			);
		},
	});
}

/** Fires when the answer is complete or the client has disconnected. */
function closeOf({ raw }: FastifyReply): AbortSignal {
	const closed = new AbortController();
	if (raw.closed) closed.abort();
	raw.once("close", () => closed.abort());
	return closed.signal;
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
	for (const name of ofSuccess) reply.removeHeader(name);
	reply
		.code(answer.status)
		// A cache may keep a 404 that says nothing of it (RFC 9111 §4.2.2).
		.headers({ "cache-control": "no-store", ...answer.headers })
		.type(problemType)
		.send(JSON.stringify(answer.problem(request.id)));
}

/** What a handler that failed later may have said already of what it was about to send (RFC 9110 §8, §10.2.2, §14.3). */
const ofSuccess = [
	...["accept-ranges", "content-disposition", "content-encoding", "etag"],
	...["last-modified", "location"],
];

/** Answers each method that no endpoint of the path has with 405 and those that it has. */
function refuseOtherMethods(
	api: FastifyInstance,
	path: string,
	endpoints: readonly Endpoint[],
): void {
	const allowed = endpoints
		.filter((endpoint) => endpoint.path === path)
		.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
	const allow = allowed.join(", ");
	api.route({
		method: methods.filter((method) => !allowed.includes(method)),
		url: fastifyPath(path),
		onRequest: () => {
			throw new RequestError(
				"MethodNotAllowed",
				`Method not allowed. Use ${allow}.`,
				{ headers: { allow } },
			);
		},
		handler: () => undefined,
	});
}

function fastifyPath(path: string): string {
	return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

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
