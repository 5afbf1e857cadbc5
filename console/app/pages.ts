import type { ComponentType } from "preact";
import { matchPath } from "../router/route.ts";

/** What every page gets: the parts of its address that its pattern names. */
export interface PageProps {
	params: Record<string, string>;
}

interface ConsolePage {
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
];

/** The page of the address, or undefined if there is none. */
export function pageOf(path: string) {
	for (const page of pages) {
		const params = matchPath(page.pattern, path);
		if (params) return { page, params };
	}
	return undefined;
}
