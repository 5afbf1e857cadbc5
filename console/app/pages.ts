import type { ComponentType } from "preact";
import { matchPath, type PageProps } from "../router/route.ts";

export interface ConsolePage {
	pattern: string;
	/** A right without which the page has nothing to show. */
	right?: readonly [resource: string, verb: "list" | "get" | "create"];
	/** Each page is a file that the browser loads when it is first opened. */
	load(): Promise<ComponentType<PageProps>>;
}

/** Every address of the console. */
export const pages: ConsolePage[] = [
	{
		pattern: "sources",
		right: ["sources", "list"],
		load: async () => (await import("../sources/source-list.tsx")).SourceList,
	},
	{
		pattern: "destinations",
		right: ["destinations", "list"],
		load: async () =>
			(await import("../destinations/destination-list.tsx")).DestinationList,
	},
	{
		pattern: "destinations/new",
		right: ["destinations", "create"],
		load: async () =>
			(await import("../destinations/destination-edit.tsx")).NewDestination,
	},
	{
		pattern: "destinations/:name",
		right: ["destinations", "get"],
		load: async () =>
			(await import("../destinations/destination-page.tsx")).DestinationPage,
	},
	{
		pattern: "destinations/:name/edit",
		right: ["destinations", "get"],
		load: async () =>
			(await import("../destinations/destination-edit.tsx")).EditDestination,
	},
	{
		pattern: "sources/new",
		right: ["sources", "create"],
		load: async () => (await import("../sources/source-edit.tsx")).NewSource,
	},
	{
		pattern: "sources/:name",
		right: ["sources", "get"],
		load: async () => (await import("../sources/source-page.tsx")).SourcePage,
	},
	{
		pattern: "sources/:name/edit",
		right: ["sources", "get"],
		load: async () => (await import("../sources/source-edit.tsx")).EditSource,
	},
	{
		pattern: "pipelines",
		right: ["pipelines", "list"],
		load: async () =>
			(await import("../pipelines/pipeline-list.tsx")).PipelineList,
	},
	{
		pattern: "pipelines/new",
		right: ["pipelines", "create"],
		load: async () =>
			(await import("../pipelines/pipeline-edit.tsx")).NewPipeline,
	},
	{
		pattern: "pipelines/:name",
		right: ["pipelines", "get"],
		load: async () =>
			(await import("../pipelines/pipeline-page.tsx")).PipelinePage,
	},
	{
		pattern: "pipelines/:name/edit",
		right: ["pipelines", "get"],
		load: async () =>
			(await import("../pipelines/pipeline-edit.tsx")).EditPipeline,
	},
	{
		pattern: "runs",
		right: ["runs", "list"],
		load: async () => (await import("../runs/run-list-page.tsx")).RunListPage,
	},
	{
		pattern: "runs/:name",
		right: ["runs", "get"],
		load: async () => (await import("../runs/run-page.tsx")).RunPage,
	},
	{
		pattern: "tracking-plans",
		right: ["trackingplans", "list"],
		load: async () =>
			(await import("../tracking-plans/plan-list.tsx")).PlanList,
	},
	{
		pattern: "tracking-plans/new",
		right: ["trackingplans", "create"],
		load: async () =>
			(await import("../tracking-plans/plan-form-page.tsx")).NewPlan,
	},
	{
		pattern: "tracking-plans/:name",
		right: ["trackingplans", "get"],
		load: async () =>
			(await import("../tracking-plans/plan-page.tsx")).PlanPage,
	},
	{
		pattern: "tokens",
		right: ["tokens", "list"],
		load: async () => (await import("../tokens/token-list.tsx")).TokenListPage,
	},
	{
		pattern: "tokens/new",
		right: ["tokens", "create"],
		load: async () => (await import("../tokens/new-token.tsx")).NewToken,
	},
	{
		pattern: "tokens/:name",
		right: ["tokens", "get"],
		load: async () => (await import("../tokens/token-page.tsx")).TokenPage,
	},
	{
		pattern: "search",
		right: ["sources/events", "get"],
		load: async () => (await import("../sources/search-page.tsx")).SearchPage,
	},
];

const loadedPages = new Map<ConsolePage, ComponentType<PageProps>>();

/** Loads the page's file. Rejects if it doesn't come. */
export async function loadPage(
	page: ConsolePage,
): Promise<ComponentType<PageProps>> {
	const loaded = await page.load();
	loadedPages.set(page, loaded);
	return loaded;
}

/** The page, if its file has been loaded. */
export function loadedPage(
	page: ConsolePage,
): ComponentType<PageProps> | undefined {
	return loadedPages.get(page);
}

/** The page of the address, or undefined if there is none. */
export function pageOf(path: string) {
	for (const page of pages) {
		const params = matchPath(page.pattern, path);
		if (params) return { page, params };
	}
	return undefined;
}
