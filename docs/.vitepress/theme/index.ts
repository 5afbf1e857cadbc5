import type { EnhanceAppContext } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { h } from "vue";
import { moved } from "../moved.ts";
import { commandsOf } from "./commands.ts";
import EventFlow from "./EventFlow.vue";
import SiteFooter from "./SiteFooter.vue";
import "./style.css";

export default {
	extends: DefaultTheme,
	Layout: () =>
		h(DefaultTheme.Layout, null, { "layout-bottom": () => h(SiteFooter) }),
	enhanceApp({ app, router, siteData }: EnhanceAppContext) {
		app.component("EventFlow", EventFlow);
		if (import.meta.env.SSR) return;
		document.addEventListener("click", copyCommands, { capture: true });
		const { base } = siteData.value;
		// The address has a heading's name, which no server sees.
		router.onBeforePageLoad = (to) => {
			const { pathname, hash } = new URL(to, location.href);
			const page = pathname.slice(base.length).replace(/\.html$/, "");
			const now = moved[page + (hash || location.hash)];
			if (now === undefined) return true;
			location.replace(base + now);
			return false;
		};
	},
};

/** VitePress's own button would copy what the commands print, too. */
async function copyCommands(event: Event): Promise<void> {
	const button = (event.target as Element).closest(
		".language-console > button.copy",
	);
	const block = button?.parentElement?.querySelector("code")?.textContent;
	if (!button || !block) return;
	event.stopPropagation();
	await navigator.clipboard.writeText(commandsOf(block).join("\n"));
	button.classList.add("copied");
	setTimeout(() => button.classList.remove("copied"), 2_000);
}
