import { parameters, parametersOf } from "../../api/document/parameters.ts";
import type { Endpoint } from "../../api/http/endpoint.ts";

/* What the clients for each language have alike: an endpoint is a method of its collection. */

export type Parameter = {
	name: string;
	in: string;
	description?: string;
	schema: { type: string; enum?: string[] };
};

export function collectionsOf(endpoints: Endpoint[]): Map<string, Endpoint[]> {
	return Map.groupBy(endpoints, collectionOf);
}

/** Whether its answer is server-sent events, which a method gives one by one. */
export function isStream({ produces }: Endpoint): boolean {
	return produces === "text/event-stream";
}

/** The method that asks for page after page of a list: `list_events` has `each_event` beside it. Undefined of others. */
export function eachName(endpoint: Endpoint): string | undefined {
	const { query = [] } = endpoint;
	const isPaged = (query as readonly string[]).includes("cursor");
	return isPaged ? methodName(endpoint).replace(/^list/, "each") : undefined;
}

/** What a method takes by name. */
export function parametersFor(endpoint: Endpoint): Parameter[] {
	// The client knows the account, and a followed log ends with its Run only.
	return parametersOf(endpoint)
		.map(resolved)
		.filter(
			({ name, in: place }) =>
				place !== "path" && name !== "Tidemill-Account" && name !== "follow",
		);
}

function resolved(parameter: object): Parameter {
	const { $ref } = parameter as { $ref?: string };
	if ($ref === undefined) return parameter as Parameter;
	const name = $ref.split("/").at(-1) as keyof typeof parameters;
	return parameters[name] as Parameter;
}

export function pathNames({ path }: Endpoint): string[] {
	return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => snake(name!));
}

/** `/v1/tracking-plans/{name}` belongs to `tracking-plans`. */
function collectionOf({ path }: Endpoint): string {
	return path.split("/")[2]!;
}

/** The endpoint's id without the name of its collection: `getRunLogs` of `runs` is `get_logs`. */
export function methodName(endpoint: Endpoint): string {
	const plural = snake(pascal(collectionOf(endpoint)));
	const words = snake(endpoint.id);
	const rest = words.replace(
		new RegExp(`_${plural.replace(/s$/, "")}s?(?=_|$)`),
		"",
	);
	return rest;
}

export function snake(name: string): string {
	return name
		.replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
		.replaceAll(/([A-Z])([A-Z][a-z])/g, "$1_$2")
		.toLowerCase();
}

export function pascal(collection: string): string {
	return collection.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) =>
		letter.toUpperCase(),
	);
}

export function camel(name: string): string {
	return snake(name).replaceAll(/_(.)/g, (_, letter: string) =>
		letter.toUpperCase(),
	);
}
