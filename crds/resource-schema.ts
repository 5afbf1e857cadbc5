import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
// yaml: a strict reader of YAML 1.2, the format of Kubernetes manifests.
import { parse } from "yaml";

/** A custom resource, as its CRD defines it. */
export interface ResourceSchema {
	group: string;
	version: string;
	kind: string;
	plural: string;
	shortNames: string[];
	schema: Schema;
}

/** The part of a structural OpenAPI schema that the CRDs use (apiextensions.k8s.io/v1 JSONSchemaProps). */
export interface Schema {
	type?: "object" | "array" | "string" | "integer" | "boolean";
	description?: string;
	properties?: Record<string, Schema>;
	required?: string[];
	additionalProperties?: Schema;
	items?: Schema;
	enum?: (string | number)[];
	default?: unknown;
	format?: string;
	pattern?: string;
	minLength?: number;
	maxLength?: number;
	minimum?: number;
	maximum?: number;
	minItems?: number;
	maxItems?: number;
	maxProperties?: number;
	"x-kubernetes-int-or-string"?: boolean;
	"x-kubernetes-preserve-unknown-fields"?: boolean;
	"x-kubernetes-list-type"?: "atomic" | "set" | "map";
	"x-kubernetes-list-map-keys"?: string[];
	"x-kubernetes-map-type"?: "atomic" | "granular";
	"x-kubernetes-validations"?: CelRule[];
}

/** A CEL rule that the apiserver checks. */
export interface CelRule {
	rule: string;
	message: string;
	fieldPath?: string;
}

/**
 * The chart has the CRDs, since it can read no file outside its folder. In the image and in npm's package of the
 * command line they stand beside the program.
 */
const folder = ["../charts/tidemill/files/crds", "crds"]
	.map((path) => join(import.meta.dirname, path))
	.find(existsSync);
let schemas: ResourceSchema[] | undefined;

/** All custom resources, ordered by file name. They are read once: whoever changes one copies it first. */
export function readResourceSchemas(): ResourceSchema[] {
	schemas ??= folder
		? readdirSync(folder)
				.sort()
				.map((file) => readResourceSchema(join(folder, file)))
		: [];
	return schemas;
}

function readResourceSchema(file: string): ResourceSchema {
	const text = readFileSync(file, "utf8");
	const { spec } = parse(text) as {
		spec: {
			group: string;
			names: { kind: string; plural: string; shortNames: string[] };
			versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
		};
	};
	const version = spec.versions[0]!;
	return {
		group: spec.group,
		version: version.name,
		kind: spec.names.kind,
		plural: spec.names.plural,
		shortNames: spec.names.shortNames,
		schema: version.schema.openAPIV3Schema,
	};
}
