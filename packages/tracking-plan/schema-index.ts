import { pointerPart } from "../json/json-pointer.ts";
import {
	childSchemas,
	isObject,
	type PlanSchema,
	type SchemaKeywords,
} from "./schemas.ts";

/** Finds the targets of a plan's references. */
export class SchemaIndex {
	/** Absolute URIs, with a fragment for anchors only. */
	readonly #byUri = new Map<string, SchemaKeywords>();
	readonly #dynamic = new Map<string, SchemaKeywords[]>();
	readonly #baseOf = new Map<SchemaKeywords, string>();

	constructor(schemas: PlanSchema[]) {
		for (const { uri, schema } of schemas) {
			if (typeof schema !== "object") continue;
			this.#byUri.set(uri, schema);
			this.#add(schema, uri);
		}
	}

	/**
	 * What a schema's references may lead to: with $dynamicRef and $recursiveRef, any schema of that name. A reference to a
	 * schema outside the plan, such as a draft's own, leads nowhere.
	 */
	targetsOf(schema: SchemaKeywords): SchemaKeywords[] {
		const targets: SchemaKeywords[] = [];
		const base = this.#baseOf.get(schema) ?? "plan:/";
		if (typeof schema.$ref === "string")
			targets.push(...this.#resolve(schema.$ref, base));
		if (typeof schema.$dynamicRef === "string") {
			const [, anchor] = schema.$dynamicRef.split("#");
			targets.push(
				...this.#resolve(schema.$dynamicRef, base),
				...(this.#dynamic.get(anchor ?? "") ?? []),
			);
		}
		if (typeof schema.$recursiveRef === "string")
			targets.push(
				...this.#resolve(schema.$recursiveRef, base),
				...(this.#dynamic.get("") ?? []),
			);
		return targets;
	}

	/** Whether the event's schema leads outside the plan, where anything may be named. */
	#resolve(reference: string, base: string): SchemaKeywords[] {
		const uri = absolute(reference, base);
		if (uri === undefined) return [];
		const [file, fragment = ""] = uri.split("#") as [string, string?];
		const anchored = fragment ? this.#byUri.get(uri) : undefined;
		if (anchored) return [anchored];
		const root = this.#byUri.get(file);
		if (!root || (fragment && !fragment.startsWith("/"))) return [];
		const target = this.#follow(root, file, fragment);
		return target ? [target] : [];
	}

	#follow(
		root: SchemaKeywords,
		file: string,
		pointer: string,
	): SchemaKeywords | undefined {
		let value: unknown = root;
		let base = file;
		for (const token of pointer.split("/").slice(1)) {
			const key = pointerPart(decoded(token));
			if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
			value = value[key];
			if (isObject(value)) base = this.#baseOf.get(value) ?? base;
		}
		if (!isObject(value)) return undefined;
		// A place where no keyword puts a schema, such as a keyword of the author's own.
		if (!this.#baseOf.has(value)) this.#add(value, base);
		return value;
	}

	#add(root: SchemaKeywords, from: string): void {
		const open = [{ schema: root, parent: from }];
		for (let next = open.pop(); next; next = open.pop()) {
			const { schema, parent } = next;
			const base = this.#name(schema, parent);
			this.#baseOf.set(schema, base);
			for (const child of childSchemas(schema))
				open.push({ schema: child.schema, parent: base });
		}
	}

	#name(schema: SchemaKeywords, parent: string): string {
		let base = parent;
		const { $id, $anchor, $dynamicAnchor, $recursiveAnchor } = schema;
		if (typeof $id === "string") {
			const own = absolute($id, parent) ?? parent;
			base = own.split("#")[0]!;
			this.#byUri.set(base === parent ? own : base, schema);
			if (own !== base && !own.endsWith("#")) this.#byUri.set(own, schema);
		}
		for (const anchor of [$anchor, $dynamicAnchor])
			if (typeof anchor === "string")
				this.#byUri.set(`${base}#${anchor}`, schema);
		const dynamic =
			typeof $dynamicAnchor === "string"
				? $dynamicAnchor
				: $recursiveAnchor === true
					? ""
					: undefined;
		if (dynamic !== undefined)
			this.#dynamic.set(dynamic, [
				...(this.#dynamic.get(dynamic) ?? []),
				schema,
			]);
		return base;
	}
}

function absolute(reference: string, base: string): string | undefined {
	return URL.parse(reference, base)?.href;
}

function decoded(token: string): string {
	try {
		return decodeURIComponent(token);
	} catch {
		return token;
	}
}
