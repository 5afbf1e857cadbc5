import { type ApiResource, apiResources } from "./api-resource.ts";
import type { Handler } from "./handler.ts";
import { createOf, getOf, listOf, removeOf, updateOf } from "./resources.ts";
import { getRunLogs, getRunProgress } from "./run-progress.ts";
import { cancelRun, getRun, listRuns, startRun } from "./runs.ts";

export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Every operation of the API, by path (as fastify writes them) and method. */
export const routes: Record<string, Partial<Record<Method, Handler>>> = {
	...Object.assign({}, ...apiResources.map(routesOf)),
	"/v1/pipelines/:name/run": { POST: startRun },
	"/v1/runs": { GET: listRuns },
	"/v1/runs/:name": { GET: getRun },
	"/v1/runs/:name/cancel": { POST: cancelRun },
	"/v1/runs/:name/logs": { GET: getRunLogs },
	"/v1/runs/:name/progress": { GET: getRunProgress },
};

function routesOf(resource: ApiResource): typeof routes {
	const path = `/v1/${resource.collection}`;
	return {
		[path]: { GET: listOf(resource), POST: createOf(resource) },
		[`${path}/:name`]: {
			GET: getOf(resource),
			PATCH: updateOf(resource),
			DELETE: removeOf(resource),
		},
	};
}
