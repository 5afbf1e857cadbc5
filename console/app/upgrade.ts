import { effect, signal } from "@preact/signals";
import { connection } from "../api/changes.ts";
import { hasUnsaved, keepState, keptState } from "../router/navigation.ts";

/** Whether every replica of the API serves another console than this page. */
export const isOutdated = signal(false);

const reviewMs = 60_000;
/** While replicas may be of several builds. */
const doubtMs = 10_000;
const lookMs = 1_500;
/** So many answers in a row that name one build are of all replicas, as far as a page can tell behind a proxy. */
const surely = 4;
/** Behind a cache that keeps old pages, it would go on for ever. */
const mostReloads = 5;

const writtenIn = new Set<Element>();

/**
 * Looks which console the API serves: now and then, and often when the connection comes or breaks, as it does when a replica
 * ends. A page of another build loads itself again, unless somebody has typed something: then it says so and waits.
 */
export function followUpgrades(): void {
	let doubtUntilMs = 0;
	let timer: ReturnType<typeof setTimeout>;
	let served: string | undefined;
	let times = 0;
	const look = async () => {
		clearTimeout(timer);
		timer = setTimeout(look, Date.now() < doubtUntilMs ? lookMs : reviewMs);
		const build = await servedBuild();
		if (build === undefined) return;
		times = build === served ? times + 1 : 1;
		served = build;
		if (build !== __CONSOLE_BUILD__) beginDoubt();
		if (times < surely) return;
		isOutdated.value = build !== __CONSOLE_BUILD__;
		if (isOutdated.peek() && !hasText()) reloadFor(build);
	};
	const beginDoubt = () => {
		const wasSure = Date.now() >= doubtUntilMs;
		doubtUntilMs = Date.now() + doubtMs;
		if (!wasSure) return;
		clearTimeout(timer);
		timer = setTimeout(look, lookMs);
	};
	document.addEventListener("input", ({ target }) => {
		if (!(target instanceof HTMLSelectElement))
			writtenIn.add(target as Element);
	});
	document.addEventListener("visibilitychange", () => {
		if (!document.hidden) void look();
	});
	effect(() => {
		if (connection.value && __CONSOLE_BUILD__ !== "dev") beginDoubt();
	});
}

async function servedBuild(): Promise<string | undefined> {
	try {
		const answer = await fetch(new URL("./build.json", document.baseURI));
		return (await answer.json()).build;
	} catch {
		// The API is away, or of a version that doesn't say it.
		return undefined;
	}
}

/** Whether something on the page would be lost by loading it again. */
function hasText(): boolean {
	for (const one of writtenIn) if (!one.isConnected) writtenIn.delete(one);
	const isWritten = [...writtenIn].some(
		(one) => one.closest("main") && (one as HTMLInputElement).value !== "",
	);
	return hasUnsaved() || isWritten || !!document.querySelector("dialog[open]");
}

function reloadFor(build: string): void {
	const { reloads } = keptState();
	const count = reloads?.build === build ? reloads.count + 1 : 1;
	if (count > mostReloads) return;
	keepState({ reloads: { build, count } });
	location.reload();
}
