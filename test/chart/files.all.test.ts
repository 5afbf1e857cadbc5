// On a laptop nothing proves this: it needs Helm, which few laptops have and which takes minutes to build.
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { helm } from "../../tools/generate/chart/install-yaml.ts";
import { writeReleaseChart } from "../../tools/generate/chart/listing.ts";
import {
	chart,
	examples,
	monitoring,
	render,
} from "../support/chart/render.ts";

/* What the chart consists of, for those who take it from Git (Argo CD, Flux) and from a registry. */

const root = join(chart, "../..");
let directory: string;
/** The chart from Git, without symbolic links, which Flux leaves out. */
let fromGit: string;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "chart-files-"));
	fromGit = join(directory, "charts/tidemill");
	for (const file of await regularFiles())
		await cp(join(root, file), join(directory, file));
});
afterAll(() => rm(directory, { recursive: true }));

/** Those that are in Git, or would be, and are neither links nor modules. */
async function regularFiles(): Promise<string[]> {
	const { stdout } = await promisify(execFile)(
		"git",
		["ls-files", "--stage", "-z", "charts/tidemill"],
		{ cwd: root },
	);
	return stdout.split("\0").flatMap((line) => {
		const [, mode, path] = /^(\d+) .*\t(.*)$/.exec(line) ?? [];
		return mode?.startsWith("100") ? path! : [];
	});
}

const tryOut = `--values=${examples.get("try-out")}`;

function template(from: string, ...args: string[]): Promise<string> {
	const release = ["tidemill", from, "--namespace=tidemill-system"];
	return helm("template", ...release, ...monitoring, ...args);
}

test.each([...examples])(
	"Git's regular files alone render as the whole chart with the values of the example %s",
	async (_, file) => {
		const values = `--values=${file}`;
		expect(await template(fromGit, values)).toBe(await template(chart, values));
	},
);

test("the chart installs each kind that there is", async () => {
	const objects = await render(tryOut);
	const names = objects
		.filter(({ kind }) => kind === "CustomResourceDefinition")
		.map(({ metadata }) => metadata.name);
	expect(names).toEqual(
		readResourceSchemas().map(({ plural }) => `${plural}.tidemill.dev`),
	);
});

test.each(globSync("files/**/*.*", { cwd: chart }).toSorted())(
	"without %s nothing is rendered, and Helm says what is missing",
	async (path) => {
		const file = join(fromGit, path);
		await rename(file, join(directory, "away"));
		try {
			await expect(
				template(
					fromGit,
					...[tryOut, "--set=metrics.prometheusRule.enabled=true"],
					"--set=metrics.dashboard.enabled=true",
				),
			).rejects.toThrow(`this copy of the chart lacks ${path}. Get the chart`);
		} finally {
			await rename(join(directory, "away"), file);
		}
	},
);

test("a release's chart renders as the repository's, and tells Artifact Hub its kinds, examples, images and changes", async () => {
	const folder = join(directory, "release");
	writeReleaseChart(folder);
	await helm("package", folder, `--destination=${directory}`);
	const [archive] = globSync(join(directory, "tidemill-*.tgz"));
	expect(await template(archive!, tryOut)).toBe(await template(chart, tryOut));
	const { annotations } = parse(await helm("show", "chart", archive!));
	for (const name of ["changes", "crds", "crdsExamples", "images"])
		expect(parse(annotations[`artifacthub.io/${name}`])).not.toHaveLength(0);
});
