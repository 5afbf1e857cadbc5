import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
// yaml: keeps the comments of the file that it writes into.
import { parse, parseDocument, Scalar, stringify } from "yaml";
import { readResourceSchemas } from "../../../crds/resource-schema.ts";
import { type ChartValue, readValues } from "./values.ts";

/*
 * How the chart presents itself outside of this repository: on Artifact Hub, and wherever a chart's README is read alone.
 */

const root = join(import.meta.dirname, "../../..");
const repository = "https://github.com/tidemill/tidemill";

/** The address of a file of this repository. */
export function addressOf(path: string): string {
	return `${repository}/blob/main/${path}`;
}

/** An example of each kind, as people find it in the repository. */
const examples = [
	"examples/quickstart/source.yaml",
	"examples/quickstart/destination.yaml",
	"examples/quickstart/pipeline.yaml",
	"examples/quickstart/run/run.yaml",
	"examples/tracking-plan/plan.yaml",
	"examples/operations/dry-run.yaml",
];

/** `make release-chart`: writes the chart as a release publishes it, for `helm package`. @param folder is replaced. */
export function writeReleaseChart(folder: string): void {
	rmSync(folder, { recursive: true, force: true });
	cpSync(join(root, "charts/tidemill"), folder, { recursive: true });
	const { version } = JSON.parse(read("package.json")) as { version: string };
	writeFileSync(join(folder, "Chart.yaml"), chartYaml(version));
}

if (import.meta.main) {
	const folder = join(root, "dist/chart");
	writeReleaseChart(folder);
	console.log(`${folder} is written.`);
}

/**
 * Chart.yaml of a release: with what follows from other files, which the repository's lacks, namely the kinds, an example of
 * each, the images and the version's changes. https://artifacthub.io/docs/topics/annotations/helm/
 */
export function chartYaml(release: string): string {
	const document = parseDocument(read("charts/tidemill/Chart.yaml"));
	const values = readValues(read("charts/tidemill/values.yaml"));
	const annotations = {
		changes: changesOf(read("CHANGELOG.md"), release),
		crds: readResourceSchemas().map(({ kind, plural, version, schema }) => ({
			kind,
			version,
			name: `${plural}.tidemill.dev`,
			displayName: kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " "),
			description: schema.description,
		})),
		crdsExamples: examples.map((path) => parse(read(path))),
		images: imagesOf(values, release),
	};
	for (const [name, value] of Object.entries(annotations)) {
		const scalar = new Scalar(stringify(value, { lineWidth: 0 }));
		scalar.type = Scalar.BLOCK_LITERAL;
		document.setIn(["annotations", `artifacthub.io/${name}`], scalar);
	}
	return document.toString({ lineWidth: 0 });
}

interface Change {
	kind: string;
	description: string;
	links?: { name: string; url: string }[];
}

/**
 * What CHANGELOG.md lists of a version, under headings such as `### Fixed`; what is under none is `added`, as all of a first
 * version is. Throws if it lists nothing.
 */
export function changesOf(changelog: string, version: string): Change[] {
	const section = changelog
		.split(/^## /m)
		.find((text) => text.split(/\s/, 1)[0] === version);
	const changes = (section ?? "").split(/^### /m).flatMap((group, i) => {
		const kind = i === 0 ? "added" : /^\w+/.exec(group)![0].toLowerCase();
		const items = group.split(/^- /m).slice(1);
		return items.map((item) => changeOf(kind, item));
	});
	if (changes.length > 0) return changes;
	throw new Error(`CHANGELOG.md lists no changes of ${version}.`);
}

function changeOf(kind: string, item: string): Change {
	// A line that isn't indented is no longer the item's.
	const text = item.split(/\n(?! )/, 1)[0]!.replaceAll(/\s+/g, " ");
	const linked = [...text.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)];
	const links = linked.map(([, name, path]) => ({
		name: name!.replaceAll("`", ""),
		url: path!.includes("://") ? path! : addressOf(path!),
	}));
	return {
		kind,
		description: text
			.replaceAll(/ \(\[[^\]]+\]\([^)]+\)\)/g, "")
			.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1")
			.trim(),
		...(links.length > 0 && { links }),
	};
}

/** Every image that the chart's values name. */
function imagesOf(
	values: ChartValue[],
	release: string,
): { name: string; image: string }[] {
	return values.flatMap(({ children = [] }) => {
		const value = (key: string) =>
			children.find((child) => child.key === key)?.default;
		if (value("repository") === undefined) return imagesOf(children, release);
		const repository = String(value("repository"));
		const tag = value("tag") || release;
		return [
			{
				name: repository.split("/").at(-1)!,
				image: `${value("registry")}/${repository}:${tag}`,
			},
		];
	});
}

function read(path: string): string {
	return readFileSync(join(root, path), "utf8");
}
