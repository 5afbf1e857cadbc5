import { globSync } from "node:fs";
import { basename, join } from "node:path";
// yaml: reads YAML 1.2 to the letter.
import { parse } from "yaml";
import { helm } from "../../../tools/generate/chart/install-yaml.ts";
import type { Rendered } from "./rendered.ts";

const root = join(import.meta.dirname, "../../..");
export const chart = join(root, "charts/tidemill");

/** The kinds that a cluster has only with the Prometheus operator. */
export const monitoring = [
	"PodMonitor",
	"ServiceMonitor",
	"PrometheusRule",
].map((kind) => `--api-versions=monitoring.coreos.com/v1/${kind}`);

/** Every example of values, by its name. */
export const examples = new Map(
	globSync(join(chart, "examples/*.yaml"))
		.toSorted()
		.map((file) => [basename(file, ".yaml"), file]),
);

/** The chart's manifests as text, hooks and tests included. */
export function renderText(...args: string[]): Promise<string> {
	const release = ["tidemill", chart, "--namespace=tidemill-system"];
	return helm("template", ...release, ...monitoring, ...args);
}

/** The chart's objects. */
export async function render(...args: string[]): Promise<Rendered[]> {
	return objectsOf(await renderText(...args));
}

/** The same of a release of another name and namespace. */
export async function renderRelease(
	release: string,
	namespace: string,
	...args: string[]
): Promise<Rendered[]> {
	const named = [release, chart, `--namespace=${namespace}`];
	return objectsOf(await helm("template", ...named, ...monitoring, ...args));
}

/** By their texts. Of two renderings nearly all documents are equal, and reading them would take longer than Helm. */
const documents = new Map<string, Rendered | null>();

function objectsOf(manifests: string): Rendered[] {
	return manifests.split(/^---$/m).flatMap((text) => {
		if (!documents.has(text)) documents.set(text, parse(text));
		return structuredClone(documents.get(text)) ?? [];
	});
}
