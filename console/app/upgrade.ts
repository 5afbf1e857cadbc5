import { effect, signal } from "@preact/signals";
import { connection } from "../api/changes.ts";
import { hasUndo } from "../components/toasts.ts";
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
	const isAsked = !!document.querySelector("dialog[open]");
	return hasUnsaved() || hasUndo() || isWritten || isAsked;
}

function reloadFor(build: string): void {
	const { reloads } = keptState();
	const count = reloads?.build === build ? reloads.count + 1 : 1;
	if (count > mostReloads) return;
	keepState({ reloads: { build, count } });
	location.reload();
}

const missingAgainMs = 3_000;
/** After so long without one, they are counted anew. */
const forgottenMs = 600_000;

/**
 * Loads the page again, of which a file didn't come: later each time, and once the API answers, since nothing would bring the
 * visitor back from the browser's own page. Returns false if it has done so too often. public/missing-file.js does the same before
 * the app begins.
 * @param left the visitor has left the page
 */
export function reloadForFile(left: AbortSignal): boolean {
	const { missing } = keptState();
	const isRecent = missing && Date.now() - missing.atMs < forgottenMs;
	const before = isRecent ? missing.count : 0;
	if (before >= mostReloads) return false;
	const look = async () => {
		const build = await servedBuild();
		if (left.aborted) return;
		if (build === undefined) {
			setTimeout(look, missingAgainMs);
			return;
		}
		keepState({ missing: { count: before + 1, atMs: Date.now() } });
		location.reload();
	};
	setTimeout(look, missingAgainMs * 2 ** before);
	return true;
}
