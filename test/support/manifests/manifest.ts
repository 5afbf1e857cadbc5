import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";

export interface Manifest {
	apiVersion: string;
	kind: string;
	metadata: { name: string; annotations?: Record<string, string> };
	spec?: unknown;
}

export function manifestOf(kind: string, name: string, spec: object): Manifest {
	const apiVersion = "tidemill.dev/v1alpha1";
	return { apiVersion, kind, metadata: { name }, spec };
}

/** The manifests in a file of this folder. */
export function readManifests(file: string): Manifest[] {
	const text = readFileSync(join(import.meta.dirname, file), "utf8");
	return parseAllDocuments(text).map((document) => document.toJSON());
}
