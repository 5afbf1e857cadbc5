import { readFileSync } from "node:fs";
import { resolve } from "node:path";
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

/** @param file In this folder, or the path of one elsewhere. */
export function readManifests(file: string): Manifest[] {
	const text = readFileSync(resolve(import.meta.dirname, file), "utf8");
	return parseAllDocuments(text).map((document) => document.toJSON());
}
