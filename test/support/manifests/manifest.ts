import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse, parseAllDocuments } from "yaml";

export interface Manifest {
	apiVersion: string;
	kind: string;
	metadata: { name: string };
	spec?: unknown;
}

/** A manifest that is refused, and what the apiserver says of it. */
export interface RefusedManifest {
	manifest: Manifest;
	says: string;
}

/** The names and places in lists that lead to a field. */
export type FieldPath = (string | number)[];

export function manifestOf(kind: string, name: string, spec: object): Manifest {
	const apiVersion = "tidemill.dev/v1alpha1";
	return { apiVersion, kind, metadata: { name }, spec };
}

/** @param file In this folder, or the path of one elsewhere. */
export function readManifests(file: string): Manifest[] {
	const text = readFileSync(resolve(import.meta.dirname, file), "utf8");
	return parseAllDocuments(text).map((document) => document.toJSON());
}

/** What 0.1.0 accepted, and what is accepted since: here, and of the warehouses' fields beside each of them. */
export function readAcceptedManifests(): Manifest[] {
	const ofWarehouses = resolve(
		import.meta.dirname,
		"../../../packages/warehouses/*/accepted.yaml",
	);
	const files = ["accepted.yaml", ...globSync(ofWarehouses)];
	const added = files.flatMap(readManifests);
	const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
	const names = new Set(added.map(nameOf));
	const others = readManifests("0.1.0/accepted.yaml").filter(
		(manifest) => !names.has(nameOf(manifest)),
	);
	return [...others, ...added];
}

/** The rows of `refused.yaml`, each made of the accepted manifest that stands over it. */
export function readRefusedManifests(accepted: Manifest[]): RefusedManifest[] {
	const file = resolve(import.meta.dirname, "refused.yaml");
	const rows: Record<string, RefusedRow[]> = parse(readFileSync(file, "utf8"));
	return Object.entries(rows).flatMap(([base, rowsOfBase]) => {
		const found = accepted.find(
			({ kind, metadata }) => `${kind} ${metadata.name}` === base,
		);
		if (!found) throw new Error(`No accepted manifest is ${base}.`);
		return rowsOfBase.map(({ says, ...row }) => {
			const [[name, changes]] = Object.entries(row) as [[string, object]];
			const named = { ...found, metadata: { name } };
			const manifest = Object.entries(changes).reduce(
				(manifest, [field, value]) =>
					withField(manifest, field.split("."), value ?? undefined),
				named,
			);
			return { manifest, says };
		});
	});
}

/** A name with the fields that change, and what the apiserver says. */
type RefusedRow = { says: string } & Record<string, unknown>;

export function fieldAt(value: unknown, path: FieldPath): unknown {
	return path.reduce<unknown>(
		(within, step) => (within as Record<string | number, unknown>)?.[step],
		value,
	);
}

/** A copy with another value of a field; undefined removes it. */
export function withField(
	manifest: Manifest,
	path: FieldPath,
	value: unknown,
): Manifest {
	const copy = structuredClone(manifest);
	let parent = copy as unknown as Record<string | number, unknown>;
	for (const step of path.slice(0, -1)) {
		parent[step] ??= {};
		parent = parent[step] as Record<string | number, unknown>;
	}
	if (value === undefined) delete parent[path.at(-1)!];
	else parent[path.at(-1)!] = value;
	return copy;
}
