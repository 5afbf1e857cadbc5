import DefaultTheme from "vitepress/theme";
import { type App, h } from "vue";
import { commandsOf } from "./commands.ts";
import EventFlow from "./EventFlow.vue";
import SiteFooter from "./SiteFooter.vue";
import "./style.css";

export default {
	extends: DefaultTheme,
	Layout: () =>
		h(DefaultTheme.Layout, null, { "layout-bottom": () => h(SiteFooter) }),
	enhanceApp({ app }: { app: App }) {
		app.component("EventFlow", EventFlow);
		if (!import.meta.env.SSR)
			document.addEventListener("click", copyCommands, { capture: true });
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
