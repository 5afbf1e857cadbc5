import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { sidebar } from "../docs/.vitepress/sidebar.ts";
import { startHealthServer } from "../packages/service/health-server.ts";
import { Settings } from "../packages/service/settings.ts";

const root = join(import.meta.dirname, "..");
const pages = globSync("**/*.md", {
	cwd: root,
	exclude: ["**/node_modules/**", ".tidemill/**"],
});
const code = globSync("**/*.ts", {
	cwd: root,
	exclude: ["**/node_modules/**", ".tidemill/**"],
});
const folders = globSync("*/", { cwd: root });

test.each(pages)("every link to a file in %s leads somewhere", (page) => {
	// A pattern in a code span may look like a link.
	const prose = textOf(page).replaceAll(/`[^`\n]*`/g, "");
	const links = prose.matchAll(/\]\((?!https?:|#)([^)\s#]+)/g);
	const missing = [...links].filter(
		([, link]) => !existsSync(join(root, dirname(page), link!)),
	);
	expect(missing.map(([, link]) => link)).toEqual([]);
});

test.each(pages)("every path that %s names exists", (page) => {
	const paths = textOf(page).matchAll(/`([\w.-]+\/[\w./-]+)`/g);
	const missing = [...paths]
		.map(([, path]) => path!)
		.filter((path) => folders.includes(path.split("/")[0]!))
		.filter((path) => !existsSync(join(root, path)));
	expect(missing).toEqual([]);
});

test("every page that the code names exists", () => {
	const missing = code.flatMap((file) =>
		[...textOf(file).matchAll(/\bdocs\/[\w./-]+\.md\b/g)]
			.map(([page]) => ({ file, page }))
			.filter(({ page }) => !existsSync(join(root, page))),
	);
	expect(missing).toEqual([]);
});

test("every path that settings.md names for HEALTH_PORT is served there", async () => {
	const row = /^\| `HEALTH_PORT`.*$/m.exec(
		textOf("docs/reference/settings.md"),
	);
	const paths = [...row![0].matchAll(/`(\/\w+)`/g)].map(([, path]) => path!);
	expect(paths).toHaveLength(3);
	const server = await startHealthServer(new Settings({}), {
		ready: () => undefined,
		registry: new Registry(),
	});
	for (const path of paths) {
		const { status } = await fetch(`http://127.0.0.1:${server.port}${path}`);
		expect([path, status]).toEqual([path, 200]);
	}
	await server.close();
});

function textOf(file: string): string {
	return readFileSync(join(root, file), "utf8");
}

test("every page of docs/ stands in the site's sidebar once", () => {
	const inSidebar = sidebar.flatMap(({ pages }) => pages.map(([path]) => path));
	const written = globSync("**/*.md", {
		cwd: join(root, "docs"),
		exclude: ["node_modules/**", "decisions/**", "runbooks/**", "index.md"],
	}).map((page) => page.replace(/\.md$/, ""));
	expect(inSidebar.toSorted()).toEqual(written.toSorted());
});
