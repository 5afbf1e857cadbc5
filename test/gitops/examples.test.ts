import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { validateSpec } from "../support/manifests/spec-validator.ts";

const root = join(import.meta.dirname, "../..");
const files = globSync("examples/{argocd,flux,gitops}/**/*.yaml", {
	cwd: root,
	exclude: ["**/resource_customizations/**", "examples/argocd/argocd-cm.yaml"],
});

test("every example is a manifest, and names only folders that are here", () => {
	const objects = files
		.filter((file) => !file.endsWith("kustomization.yaml"))
		.flatMap((file) => objectsIn(file));
	expect(objects.length).toBeGreaterThan(8);
	for (const { apiVersion, kind, metadata, spec } of objects) {
		expect(apiVersion).toMatch(/^([\w.-]+\/)?v\d\w*$/);
		expect(metadata?.name).toMatch(/^[a-z][a-z-]+$/);
		if (apiVersion.startsWith("tidemill.dev/"))
			expect(validateSpec(kind, spec)).toEqual([]);
		const paths = [spec?.path, spec?.source?.path, spec?.chart?.spec?.chart];
		for (const path of paths.filter(Boolean))
			expect(existsSync(join(root, path)), path).toBe(true);
	}
});

test("every example follows the tag of this version, not a branch that moves", () => {
	const { version } = JSON.parse(
		readFileSync(join(root, "package.json"), "utf8"),
	);
	const revisions = files
		.filter((file) => !file.endsWith("kustomization.yaml"))
		.flatMap((file) => objectsIn(file))
		.flatMap(({ spec }) => [spec?.source?.targetRevision, spec?.ref])
		.filter((revision) => revision !== undefined)
		.map((revision) =>
			typeof revision === "string" ? { tag: revision } : revision,
		);
	expect(revisions).toEqual(Array(4).fill({ tag: `v${version}` }));
});

test("every kustomization lists files that are here, and all of them", () => {
	for (const file of files.filter((each) =>
		each.endsWith("kustomization.yaml"),
	)) {
		const folder = dirname(join(root, file));
		const { resources } = parse(readFileSync(join(root, file), "utf8"));
		const others = globSync("*.yaml", { cwd: folder }).filter(
			(each) => each !== "kustomization.yaml",
		);
		expect(resources.toSorted()).toEqual(others.toSorted());
	}
});

test("namespaces come in an earlier wave than Tidemill, and Tidemill before the accounts that use it", () => {
	const waves = Object.fromEntries(
		globSync("examples/argocd/apps/*.yaml", { cwd: root })
			.flatMap(objectsIn)
			.map(({ kind, metadata }) => [
				`${kind} ${metadata.name}`,
				Number(metadata.annotations["argocd.argoproj.io/sync-wave"]),
			]),
	);
	const order = [
		"Namespace shop",
		"Application tidemill-system",
		"Application shop",
	].map((name) => waves[name]);
	expect(order).toEqual([-1, 0, 1]);
});

function objectsIn(file: string) {
	return parseAllDocuments(readFileSync(join(root, file), "utf8")).map(
		(document) => document.toJS(),
	);
}
