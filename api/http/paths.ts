import type { FastifyInstance, HTTPMethods } from "fastify";
import { RequestError } from "./errors.ts";
import type { Operation } from "./endpoint.ts";

/** Answers each method that no operation of the path has with 405 and those that it has. */
export function refuseOtherMethods(
	api: FastifyInstance,
	path: string,
	operations: readonly Operation[],
): void {
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
				`Method not allowed. Use ${allow}.`,
				{ headers: { allow } },
			);
		},
		handler: () => undefined,
	});
}

export function fastifyPath(path: string): string {
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
