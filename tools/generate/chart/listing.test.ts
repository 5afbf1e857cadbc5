import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { validateSpec } from "../../../test/support/manifests/spec-validator.ts";
import { addressOf, changesOf, chartYaml } from "./listing.ts";

const root = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const { version } = JSON.parse(read("package.json"));
const released = chartYaml(version);
const chart = parse(released);
const annotation = (name: string) =>
	parse(chart.annotations[`artifacthub.io/${name}`]);

test("Artifact Hub shows each kind, with an example that the apiserver takes", () => {
	const kinds = annotation("crds").map(({ kind }: { kind: string }) => kind);
	expect(kinds).toHaveLength(6);
	for (const { kind, name, displayName, description } of annotation("crds")) {
		expect(name).toMatch(/^[a-z]+\.tidemill\.dev$/);
		expect(displayName.replaceAll(" ", "")).toBe(kind);
		expect(description).toMatch(/\.$/);
	}
	const examples = annotation("crdsExamples");
	const exampleKinds = examples.map(({ kind }: { kind: string }) => kind);
	expect(exampleKinds.toSorted()).toEqual(kinds);
	for (const { kind, spec } of examples)
		expect(validateSpec(kind, spec)).toEqual([]);
});

test("Artifact Hub's changes are those of the chart's version, each of a kind that it knows", () => {
	const kinds = "added changed deprecated removed fixed security".split(" ");
	expect(annotation("changes").length).toBeGreaterThan(10);
	for (const { kind, description } of annotation("changes")) {
		expect(kinds).toContain(kind);
		expect(description).not.toMatch(/\]\(|^\s|\n/);
	}
});

test("a version's changes go by its headings, and name the whole address of what they link", () => {
	const changelog = `# Changelog

## 0.2.0

### Fixed

- A Run that is cancelled
  ends ([jobs.md](docs/jobs.md#logs)).

### Changed

- The [CLI](https://example.com) is faster.

More is in the notes.

## 0.1.0 (unreleased)

- The first.
`;
	expect(changesOf(changelog, "0.2.0")).toEqual([
		{
			kind: "fixed",
			description: "A Run that is cancelled ends.",
			links: [{ name: "jobs.md", url: addressOf("docs/jobs.md#logs") }],
		},
		{
			kind: "changed",
			description: "The CLI is faster.",
			links: [{ name: "CLI", url: "https://example.com" }],
		},
	]);
	expect(changesOf(changelog, "0.1.0")).toEqual([
		{ kind: "added", description: "The first." },
	]);
	expect(() => changesOf(changelog, "0.3.0")).toThrow("no changes of 0.3.0");
});

const readme = read("charts/tidemill/README.md");
/** Of files of this repository, for readers who don't have it. */
const addresses = [readme, released].flatMap((text) =>
	[
		...text.matchAll(
			/https:\/\/(?:github\.com\/tidemill\/tidemill\/blob|raw\.githubusercontent\.com\/tidemill\/tidemill)\/main\/([\w./-]+)/g,
		),
	].map(([, path]) => path!),
);

test("the chart's README and its listing link to pages that are there, by addresses that work anywhere", () => {
	expect(addresses.length).toBeGreaterThan(20);
	expect(addresses.filter((path) => !existsSync(join(root, path)))).toEqual([]);
	const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link);
	expect(links.filter((link) => !link?.startsWith("https://"))).toEqual([]);
});

test("the chart's README has every value", () => {
	const documented = read("docs/reference/values.md").match(/^\| `.*$/gm);
	expect(readme.match(/^\| `.*$/gm)).toEqual(documented);
});

test("the chart says where it comes from, and has an icon that is a picture", () => {
	const repository = "https://github.com/tidemill/tidemill";
	expect(chart).toMatchObject({ home: repository, sources: [repository] });
	const icon = chart.icon.split("/main/")[1];
	expect(read(icon)).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
	expect(annotation("links").map(({ name }: { name: string }) => name)).toEqual(
		expect.arrayContaining(["Documentation", "support"]),
	);
	expect(chart.annotations).not.toHaveProperty(["artifacthub.io/signKey"]);
	// Git has it, so the address serves it.
	execFileSync("git", ["ls-files", "--error-unmatch", icon], { cwd: root });
});
