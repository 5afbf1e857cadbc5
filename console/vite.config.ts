// Vite: the only build step of the repository, since browsers don't read TypeScript.
import { defineConfig } from "vite";

/** TIDEMILL_API_URL: where a running API is, which answers what the dev server doesn't. CONSOLE_BUILD: what the build is called. */
const { TIDEMILL_API_URL: apiUrl, CONSOLE_BUILD: build = "dev" } = process.env;
const target = apiUrl && new URL(apiUrl).origin;
// The API takes the cookie only from pages of its own origin.
const toApi = target && {
	target,
	changeOrigin: true,
	headers: { origin: target },
};

export default defineConfig(({ command }) => ({
	root: import.meta.dirname,
	// The API serves the page below a prefix that no build knows.
	base: command === "build" ? "./" : "/console/",
	define: { __CONSOLE_BUILD__: JSON.stringify(build) },
	oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
	build: {
		target: "es2023",
		outDir: "dist",
		emptyOutDir: true,
		// A strict Content-Security-Policy has no data: URLs, and no inline script.
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		reportCompressedSize: false,
	},
	...(toApi && {
		server: {
			proxy: { "^/v1/": toApi, "^/console/session": toApi },
		},
	}),
}));
