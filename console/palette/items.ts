import { palette as words } from "../messages/palette.ts";
import { eventIdIn } from "../sources/event-text.ts";

/** What somebody may want: a place to go, or something to do, which is asked first. */
export interface PaletteItem {
	label: string;
	/** What it is, such as `pipeline`. */
	kind: string;
	to?: string;
	query?: Record<string, string>;
	/** What a second Enter does, in words, and where. */
	asks?: { says: string; does: "run" | "check"; name: string };
}

const paths = {
	sources: "sources",
	destinations: "destinations",
	pipelines: "pipelines",
	trackingplans: "tracking-plans",
	runs: "runs",
} as const;

type NamedKind = keyof typeof paths;

export interface PaletteView {
	/** The names of each kind that the visitor may list. */
	names: Readonly<Record<NamedKind, readonly string[]>>;
	/** Names of resources that a GitOps tool writes, and no form. */
	managed: ReadonlySet<string>;
	pages: readonly { path: string; title: string }[];
	can(kind: string, verb: "get" | "create" | "update" | "patch"): boolean;
}

/** More than a person reads at once. */
export const itemsShown = 20;

/** What has all words of the text, the best first: a name that is the text, then what begins with it, then what has it. */
export function itemsFor(text: string, view: PaletteView): PaletteItem[] {
	const wanted = text.trim().toLowerCase();
	const parts = wanted.split(/\s+/).filter(Boolean);
	const rank = ({ label, kind }: PaletteItem) => {
		const own = label.toLowerCase();
		if (!parts.every((part) => `${own} ${kind}`.includes(part)))
			return undefined;
		if (own === wanted) return 0;
		return own.startsWith(wanted) ? 1 : 2;
	};
	const found = allItems(view)
		.map((item, at) => ({ item, at, rank: rank(item) }))
		.filter(({ rank }) => rank !== undefined)
		.sort((a, b) => a.rank! - b.rank! || a.at - b.at)
		.map(({ item }) => item);
	const event = view.can("sources/events", "get") && eventIdIn(text);
	return event ? [eventOf(event), ...found] : found;
}

function eventOf(event: string): PaletteItem {
	const label = words.event(event);
	return { label, kind: words.page, to: "search", query: { event } };
}

function allItems({ names, managed, pages, can }: PaletteView): PaletteItem[] {
	const objects = Object.entries(paths).flatMap(([kind, path]) =>
		names[kind as NamedKind].map((name) => ({
			label: name,
			kind: words.kinds[kind as NamedKind],
			to: `${path}/${name}`,
		})),
	);
	const news = Object.entries(words.newOf)
		.filter(([kind]) => can(kind, "create"))
		.map(([kind, label]) => ({
			label,
			kind: words.action,
			to: `${kind === "tokens" ? kind : paths[kind as NamedKind]}/new`,
		}));
	const edits = (["sources", "destinations", "pipelines"] as const)
		.filter((kind) => can(kind, "update"))
		.flatMap((kind) =>
			names[kind]
				.filter((name) => !managed.has(`${kind}/${name}`))
				.map((name) => ({
					label: words.edit(name),
					kind: words.kinds[kind],
					to: `${kind}/${name}/edit`,
				})),
		);
	const asked = (
		does: "run" | "check",
		of: readonly string[],
		label: (name: string) => string,
		says: (name: string) => string,
	): PaletteItem[] =>
		of.map((name) => ({
			label: label(name),
			kind: words.action,
			asks: { does, name, says: says(name) },
		}));
	return [
		...pages.map(({ path, title }) => ({
			label: title,
			kind: words.page,
			to: path,
		})),
		...objects,
		...news,
		...(can("runs", "create")
			? asked("run", names.pipelines, words.run, words.runSays)
			: []),
		...(can("destinations", "patch")
			? asked("check", names.destinations, words.check, words.checkSays)
			: []),
		...edits,
	];
}
