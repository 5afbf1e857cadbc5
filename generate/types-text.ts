import type { ResourceSchema, Schema } from "../crds/resource-schema.ts";

/** The source text of `generated/types.ts`: an interface for each resource and for each object in it. */
export function typesText(resources: ResourceSchema[]): string {
	const interfaces = new Interfaces();
	const kinds = resources.map((resource) => {
		const { kind, group, version, plural, schema } = resource;
		const { spec, status } = schema.properties!;
		interfaces.add([`${kind}Spec`], kind, spec!);
		interfaces.add([`${kind}Status`], kind, status!);
		return `${docstring(schema.description)}export interface ${kind} {
	apiVersion: "${group}/${version}";
	kind: "${kind}";
	metadata: ObjectMeta;
	spec: ${kind}Spec;
	/** Absent until the operator has seen the resource. */
	status?: ${kind}Status;
}

/** Where the apiserver serves {@link ${kind}}. */
export const ${kind[0]!.toLowerCase()}${kind.slice(1)}Kind = {
	group: "${group}",
	version: "${version}",
	kind: "${kind}",
	plural: "${plural}",
	namespaced: true,
} as const;
`;
	});
	return `${header}\n${[...kinds, ...interfaces.texts()].join("\n")}`;
}

const header = `// Generated from crds/*.yaml by "npm run generate". Change those instead.
// The types are those of resources as the apiserver returns them: a field that has a default is always there.

import type { ObjectMeta } from "../object-meta.ts";
`;

/** Collects interfaces. One that is wanted under a name that a different one has goes by its next name. */
class Interfaces {
	readonly #texts = new Map<string, string>();

	texts(): Iterable<string> {
		return this.#texts.values();
	}

	/** Adds the interface of an object under the first of the names that is free for it, and returns that. */
	add(names: string[], kind: string, schema: Schema): string {
		const body = this.#body(kind, names[0]!, schema);
		for (const name of names) {
			const known = this.#texts.get(name);
			if (known !== undefined && !known.endsWith(body)) continue;
			if (known === undefined)
				this.#texts.set(
					name,
					`${docstring(schema.description)}export interface ${name} ${body}`,
				);
			return name;
		}
		throw new Error(
			`${names.join(" and ")} already name other objects; name the property differently in ${kind}.`,
		);
	}

	#body(kind: string, parent: string, schema: Schema): string {
		const fields = Object.entries(schema.properties ?? {}).map(
			([name, field]) => {
				const present =
					schema.required?.includes(name) || field.default !== undefined;
				const type = this.#type(kind, parent, name, field);
				const doc = docstring(field.description).replaceAll(/^(?=.)/gm, "\t");
				return `${doc}\t${name}${present ? "" : "?"}: ${type};\n`;
			},
		);
		return `{\n${fields.join("")}}\n`;
	}

	#type(kind: string, parent: string, name: string, schema: Schema): string {
		if (schema["x-kubernetes-int-or-string"]) return "number | string";
		if (schema.enum)
			return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
		switch (schema.type) {
			case "integer":
				return "number";
			case "array": {
				const item = this.#type(kind, parent, singular(name), schema.items!);
				return `${item.includes(" | ") ? `(${item})` : item}[]`;
			}
			case "object":
				return this.#objectType(kind, parent, name, schema);
			default:
				return schema.type!;
		}
	}

	#objectType(
		kind: string,
		parent: string,
		name: string,
		schema: Schema,
	): string {
		if (schema.additionalProperties)
			return `Record<string, ${this.#type(kind, parent, name, schema.additionalProperties)}>`;
		if (!schema.properties) return "Record<string, unknown>";
		if (name.endsWith("Ref"))
			return `{ ${Object.keys(schema.properties)
				.map((key) => `${key}: string`)
				.join("; ")} }`;
		const own = name[0]!.toUpperCase() + name.slice(1);
		const names = shared.has(own) ? [own] : [kind + own, parent + own];
		return this.add(names, kind, schema);
	}
}

/** Objects that are the same in every resource that has them. */
const shared = new Set(["Condition", "Layout"]);

function singular(name: string): string {
	return name.replace(/s$/, "");
}

function docstring(description: string | undefined): string {
	return description ? `/** ${description} */\n` : "";
}
