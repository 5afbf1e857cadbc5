import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
// yaml: reads YAML 1.2 and keeps to it; Kubernetes manifests are written in it.
import { parse } from "yaml";

/** One of the custom resources, as its CRD says. */
export interface ResourceSchema {
	group: string;
	version: string;
	kind: string;
	plural: string;
	shortNames: string[];
	schema: Schema;
}

/** What Tidemill's CRDs use of a structural OpenAPI schema (apiextensions.k8s.io/v1 JSONSchemaProps). */
export interface Schema {
	type?: "object" | "array" | "string" | "integer" | "boolean";
	description?: string;
	properties?: Record<string, Schema>;
	required?: string[];
	additionalProperties?: Schema;
	items?: Schema;
	enum?: string[];
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
	"x-kubernetes-validations"?: Rule[];
}

/** A rule in CEL that the apiserver judges. */
export interface Rule {
	rule: string;
	message: string;
	fieldPath?: string;
}

interface Definition {
	spec: {
		group: string;
		names: { kind: string; plural: string; shortNames: string[] };
		versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
	};
}

/** All custom resources, by the order of their files' names. */
export function readResourceSchemas(): ResourceSchema[] {
	return readdirSync(import.meta.dirname)
		.filter((name) => name.endsWith(".yaml"))
		.sort()
		.map((name) => {
			const text = readFileSync(join(import.meta.dirname, name), "utf8");
			const { spec } = parse(text) as Definition;
			const version = spec.versions[0]!;
			return {
				group: spec.group,
				version: version.name,
				kind: spec.names.kind,
				plural: spec.names.plural,
				shortNames: spec.names.shortNames,
				schema: version.schema.openAPIV3Schema,
			};
		});
}
