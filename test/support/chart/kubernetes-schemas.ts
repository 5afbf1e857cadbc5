import { access, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "../../../packages/service/cache.ts";
import { goModule } from "./go-module.ts";

/** The versions of Kubernetes that the chart is tested with, one of each supported minor. */
export const kubernetesVersions = ["1.34.4", "1.35.4", "1.36.3"];

interface Schema {
	$ref?: string;
	type?: string | string[];
	format?: string;
	properties?: Record<string, Schema>;
	items?: Schema;
	additionalProperties?: Schema | boolean;
	"x-kubernetes-group-version-kind"?: Record<
		"group" | "version" | "kind",
		string
	>[];
	[keyword: string]: unknown;
}

/**
 * A folder with a JSON Schema for each of these kinds, made from the OpenAPI document that the version's Go module carries.
 * The files are named as kubeconform's option `-schema-location` below wants them.
 */
export async function schemaFolder(
	version: string,
	kinds: Set<string>,
): Promise<string> {
	const folder = join(cacheDirectory(process.env), `schemas-${version}`);
	await mkdir(folder, { recursive: true });
	let definitions: Record<string, Schema> | undefined;
	for (const kind of kinds) {
		const file = join(folder, fileName(kind));
		if (await exists(file)) continue;
		definitions ??= await readDefinitions(version);
		const schema = schemaOf(kind, definitions);
		if (!schema) continue;
		await writeFile(`${file}.${process.pid}`, JSON.stringify(schema));
		await rename(`${file}.${process.pid}`, file);
	}
	return folder;
}

/** What kubeconform looks for: `deployment-apps-v1.json`, and `service-v1.json`. */
export const schemaLocation = "{{.ResourceKind}}{{.KindSuffix}}.json";

function fileName(name: string): string {
	const [kind, group, version] = name.split("/");
	const parts = [kind, group!.split(".")[0], version].filter(Boolean);
	return `${parts.join("-")}.json`;
}

/** Such as `deployment/apps/v1`, and `service//v1`. */
export function kindName(object: { apiVersion: string; kind: string }): string {
	const [version, group = ""] = object.apiVersion.split("/").reverse();
	return `${object.kind.toLowerCase()}/${group}/${version}`;
}

async function readDefinitions(
	version: string,
): Promise<Record<string, Schema>> {
	const directory = await goModule(`k8s.io/kubernetes@v${version}`);
	const file = join(directory, "api/openapi-spec/swagger.json");
	return JSON.parse(await readFile(file, "utf8")).definitions;
}

/** The kind's schema with all that it refers to; undefined if this version doesn't have the kind. */
function schemaOf(
	name: string,
	definitions: Record<string, Schema>,
): Schema | undefined {
	const root = Object.entries(definitions).find(([, definition]) =>
		definition["x-kubernetes-group-version-kind"]?.some(
			({ group, version, kind }) =>
				`${kind.toLowerCase()}/${group}/${version}` === name,
		),
	);
	if (!root) return undefined;
	const reached: Record<string, Schema> = {};
	reach(root[0]);
	return { $ref: `#/definitions/${root[0]}`, definitions: reached };

	function reach(key: string): void {
		if (reached[key]) return;
		reached[key] = strict(key, definitions[key]!);
		const text = JSON.stringify(definitions[key]);
		for (const [, next] of text.matchAll(/"#\/definitions\/([^"]+)"/g))
			reach(next!);
	}
}

/** An unknown field is an error, and text may be a number where Kubernetes takes both. */
function strict(key: string, schema: Schema): Schema {
	if (
		key.endsWith("IntOrString") ||
		key.endsWith("api.resource.Quantity") ||
		schema.format === "int-or-string"
	)
		return { type: ["string", "integer", "number"] };
	return schema.properties && schema.additionalProperties === undefined
		? { ...schema, additionalProperties: false }
		: schema;
}

function exists(file: string): Promise<boolean> {
	return access(file).then(
		() => true,
		() => false,
	);
}
