// @preact/signals: a page shows what changes in the live store without comparing whole lists.
import { computed, signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { addressOf, addressText, type ConsoleAddress } from "./route.ts";

/** Asks whether a form with changes may be left. The shell shows the question. */
type LeaveQuestion = () => Promise<boolean>;

const base = new URL("./", document.baseURI);
const current = signal<ConsoleAddress>(readAddress());
/** What a reload of this tab keeps, wherever it has gone since; nothing is kept elsewhere in the browser. */
interface KeptState {
	theme?: string;
	/** How often the page has loaded itself for a build. */
	reloads?: { build: string; count: number };
	/** How often it has, one time soon after the other, for a file that wasn't there. public/missing-file.js counts here, too. */
	missing?: { count: number; atMs: number };
}
let kept: KeptState = history.state ?? {};
/** How many entries of the history lie before this one: back and forward are told apart by it. */
let position: number = history.state?.position ?? 0;
const unsaved = new Set<symbol>();
const keptInTab = new Set<symbol>();
let question: LeaveQuestion = async () => true;
let isReturning = false;

/** Where the visitor is. */
export const address = computed(() => current.value);

/** The namespace that the address names. */
export const namespace = computed(
	() => current.value.query.get("namespace") || "default",
);

export function keptState(): KeptState {
	return kept;
}

export function keepState(more: KeptState): void {
	kept = { ...kept, ...more };
	history.replaceState(entry(), "");
}

function entry(): KeptState & { position: number } {
	return { ...kept, position };
}

/** An address as a link has it: `href("sources/shop", { event: id })`. It keeps the namespace unless the query names another. */
export function href(
	path: string,
	query: Record<string, string | undefined> = {},
): string {
	const text = addressText(path, { namespace: namespace.value, ...query });
	return new URL(text, base).href;
}

/** Goes to an address below the base, unless the visitor would lose changes and stays. */
export async function navigate(
	path: string,
	query: Record<string, string | undefined> = {},
	{ replace = false } = {},
): Promise<void> {
	await goTo(href(path, query), replace);
}

/** A `navigate` for when an answer comes: it goes nowhere once the visitor has left the page on which they asked. */
export function navigateFromHere(): typeof navigate {
	const [path, from] = [current.peek().path, namespace.peek()];
	return async (...to) => {
		const isHere = current.peek().path === path && namespace.peek() === from;
		if (isHere) await navigate(...to);
	};
}

/** Writes the page's own state, such as a filter, into the address, without leaving the page. */
export function setQuery(query: Record<string, string | undefined>): void {
	const url = new URL(location.href);
	for (const [name, value] of Object.entries(query))
		if (value) url.searchParams.set(name, value);
		else url.searchParams.delete(name);
	history.replaceState(entry(), "", url);
	current.value = readAddress();
}

/** Until the returned function is called, leaving the page asks first. */
function holdUnsaved(): () => void {
	const hold = Symbol();
	unsaved.add(hold);
	return () => void unsaved.delete(hold);
}

/** Until the returned function is called, closing the tab asks first. Leaving the page doesn't: the tab keeps what it is about. */
export function holdTab(): () => void {
	const hold = Symbol();
	keptInTab.add(hold);
	return () => void keptInTab.delete(hold);
}

/** Whether something would be lost with the tab, or by loading it again. */
export function hasUnsaved(): boolean {
	return unsaved.size + keptInTab.size > 0;
}

export function askBeforeLeaving(ask: LeaveQuestion): void {
	question = ask;
}

/** Takes over links, back and forward, and the closing of the tab. */
export function startNavigation(): void {
	history.replaceState(entry(), "");
	document.addEventListener("click", followLink);
	addEventListener("popstate", ({ state }) => void goBack(state));
	addEventListener("beforeunload", (event) => {
		if (hasUnsaved()) event.preventDefault();
	});
}

async function goTo(url: string, replace = false): Promise<void> {
	if (!(await mayLeave())) return;
	if (!replace) position++;
	if (replace) history.replaceState(entry(), "", url);
	else history.pushState(entry(), "", url);
	current.value = readAddress();
	if (!replace) scrollTo(0, 0);
}

function readAddress(): ConsoleAddress {
	const here = addressOf(new URL(location.href), base);
	return here ?? { path: "", query: new URLSearchParams() };
}

/** Asks, if a form has changes. */
export async function mayLeave(): Promise<boolean> {
	if (unsaved.size === 0) return true;
	const isSure = await question();
	if (isSure) unsaved.clear();
	return isSure;
}

function followLink(event: MouseEvent): void {
	const { button, metaKey, ctrlKey, shiftKey, altKey } = event;
	if (event.defaultPrevented || button !== 0) return;
	if (metaKey || ctrlKey || shiftKey || altKey) return;
	const link = (event.target as Element | null)?.closest?.("a");
	if (!link?.href || link.target || link.hasAttribute("download")) return;
	const [, here] = /^#(.+)/.exec(link.getAttribute("href")!) ?? [];
	if (here) {
		// A place on this page, such as the skip link's: below <base>, the browser would leave the page for it.
		event.preventDefault();
		document.getElementById(here)?.focus();
		return;
	}
	const to = addressOf(new URL(link.href), base);
	if (!to || to.path.startsWith("session")) return;
	event.preventDefault();
	void goTo(link.href);
}

/** The browser has moved already. If the visitor stays, it moves back. */
async function goBack(state: { position?: number } | null): Promise<void> {
	const to = state?.position ?? 0;
	if (isReturning) {
		isReturning = false;
		return;
	}
	if (unsaved.size > 0 && to !== position) {
		const steps = to - position;
		isReturning = true;
		history.go(-steps);
		if (await mayLeave()) history.go(steps);
		return;
	}
	position = to;
	history.replaceState(entry(), "");
	current.value = readAddress();
}

/** While a form has changes, leaving the page asks first. */
export function useUnsaved(hasChanges: boolean): void {
	// An effect after the paint, and its cleanup, come later than a click may.
	useLayoutEffect(() => (hasChanges ? holdUnsaved() : undefined), [hasChanges]);
}
