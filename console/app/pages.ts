import type { ComponentType } from "preact";
import { shell } from "../messages/shell.ts";
import { matchPath, type PageProps } from "../router/route.ts";

export interface ConsolePage {
	pattern: string;
	/** A right without which the page has nothing to show. */
	right: readonly [resource: string, verb: "list" | "get" | "create"];
	load(): Promise<ComponentType<PageProps>>;
}

/** Every address of the console. Each page is a file that the browser loads when it is first opened. */
const files: Record<string, ConsolePage["load"]> = {
	home: async () => (await import("../home/home-page.tsx")).HomePage,
	sources: async () => (await import("../sources/source-list.tsx")).SourceList,
	destinations: async () =>
		(await import("../destinations/destination-list.tsx")).DestinationList,
	"destinations/new": async () =>
		(await import("../destinations/destination-edit.tsx")).NewDestination,
	"destinations/:name": async () =>
		(await import("../destinations/destination-page.tsx")).DestinationPage,
	"destinations/:name/edit": async () =>
		(await import("../destinations/destination-edit.tsx")).EditDestination,
	"sources/new": async () =>
		(await import("../sources/source-edit.tsx")).NewSource,
	"sources/:name": async () =>
		(await import("../sources/source-page.tsx")).SourcePage,
	"sources/:name/edit": async () =>
		(await import("../sources/source-edit.tsx")).EditSource,
	pipelines: async () =>
		(await import("../pipelines/pipeline-list.tsx")).PipelineList,
	"pipelines/new": async () =>
		(await import("../pipelines/pipeline-edit.tsx")).NewPipeline,
	"pipelines/:name": async () =>
		(await import("../pipelines/pipeline-page.tsx")).PipelinePage,
	"pipelines/:name/edit": async () =>
		(await import("../pipelines/pipeline-edit.tsx")).EditPipeline,
	runs: async () => (await import("../runs/run-list-page.tsx")).RunListPage,
	"runs/:name": async () => (await import("../runs/run-page.tsx")).RunPage,
	"tracking-plans": async () =>
		(await import("../tracking-plans/plan-list.tsx")).PlanList,
	"tracking-plans/new": async () =>
		(await import("../tracking-plans/plan-form-page.tsx")).NewPlan,
	"tracking-plans/:name": async () =>
		(await import("../tracking-plans/plan-page.tsx")).PlanPage,
	tokens: async () => (await import("../tokens/token-list.tsx")).TokenListPage,
	"tokens/new": async () => (await import("../tokens/new-token.tsx")).NewToken,
	"tokens/:name": async () =>
		(await import("../tokens/token-page.tsx")).TokenPage,
	search: async () => (await import("../sources/search-page.tsx")).SearchPage,
};

const pages = Object.entries(files).map(
	([pattern, load]): ConsolePage => ({
		pattern,
		right: rightOf(pattern),
		load,
	}),
);

function rightOf(pattern: string): ConsolePage["right"] {
	if (pattern === "home") return ["sources", "list"];
	if (pattern === "search") return ["sources/events", "get"];
	const [kind = "", place] = pattern.split("/");
	const verb = place === "new" ? "create" : "get";
	return [kind.replace("-", ""), place === undefined ? "list" : verb];
}

const loadedPages = new Map<ConsolePage, ComponentType<PageProps>>();

/** During an upgrade, the replica that answers may be of another build. */
export class MissingFile extends Error {}

/** Loads the page's file. Rejects with {@link MissingFile} if it doesn't come. */
export async function loadPage(
	page: ConsolePage,
): Promise<ComponentType<PageProps>> {
	const loaded = await page.load().catch((cause: unknown) => {
		throw new MissingFile(shell.missingFile, { cause });
	});
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
