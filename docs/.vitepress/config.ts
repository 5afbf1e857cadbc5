import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
// VitePress makes a site of Markdown, with a search that needs no server, and refuses dead links.
import { defineConfig } from "vitepress";
import { githubSlug } from "./headings.ts";
import { searchOptions } from "./search.ts";
import { sidebar } from "./sidebar.ts";

const docs = join(import.meta.dirname, "..");

/** The pages of a folder by their titles. */
function pagesOf(folder: string) {
	return readdirSync(join(docs, folder))
		.filter((file) => file.endsWith(".md"))
		.sort()
		.map((file) => {
			const text = readFileSync(join(docs, folder, file), "utf8");
			return {
				text: /^# (.*)$/m.exec(text)?.[1] ?? file,
				link: `/${folder}/${file.replace(/\.md$/, "")}`,
			};
		});
}

const repository = "https://github.com/tidemill/tidemill";
const base = process.env.SITE_BASE ?? "/";
const { version } = JSON.parse(
	readFileSync(join(docs, "../package.json"), "utf8"),
);

export default defineConfig({
	title: "Tidemill",
	description:
		"Webhooks into your data warehouse, minutes later, on Kubernetes",
	base,
	cleanUrls: true,
	srcExclude: ["node_modules/**"],
	markdown: {
		anchor: { slugify: githubSlug },
		config(markdown) {
			const inner = markdown.renderer.rules.link_open;
			markdown.renderer.rules.link_open = (
				tokens,
				index,
				options,
				env,
				self,
			) => {
				const href = tokens[index]?.attrGet("href") ?? "";
				const path = posix.join("docs", posix.dirname(env.relativePath), href);
				if (href.startsWith("../") && !path.startsWith("docs/"))
					tokens[index]?.attrSet("href", `${repository}/blob/main/${path}`);
				return inner
					? inner(tokens, index, options, env, self)
					: self.renderToken(tokens, index, options);
			};
			// Vue would take the braces of other template languages for its own.
			markdown.core.ruler.push("code-as-it-stands", ({ tokens }) => {
				for (const { children } of tokens)
					for (const token of children ?? [])
						if (token.type === "code_inline") token.attrSet("v-pre", "");
			});
		},
	},
	head: [["link", { rel: "icon", href: `${base}icon.svg` }]],
	themeConfig: {
		logo: "/icon.svg",
		socialLinks: [{ icon: "github", link: repository }],
		// For the footer.
		repository,
		version,
		search: {
			provider: "local",
			options: { miniSearch: { searchOptions } },
		},
		nav: [
			{ text: "Quick start", link: "/quickstart" },
			{ text: "Tutorial", link: "/tutorial" },
			{ text: "Install", link: "/install" },
			{ text: "Reference", link: "/reference/resources" },
			{ text: "Troubleshooting", link: "/troubleshooting" },
		],
		sidebar: [
			...sidebar.map(({ text, pages }) => ({
				text,
				items: pages.map(([path, text]) => ({ text, link: `/${path}` })),
			})),
			{ text: "Runbooks", collapsed: true, items: pagesOf("runbooks") },
			{ text: "Decisions", collapsed: true, items: pagesOf("decisions") },
		],
		outline: [2, 3],
	},
});
