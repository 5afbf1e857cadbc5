import type { Browser } from "playwright-core";
import { sourceKind } from "../../../crds/generated/types.ts";
import {
	afterTwoFrames,
	bytesOfView,
	type ConsoleSession,
} from "../../../test/console/browser.ts";
import { figure, type Measurement, type Say } from "../measure/measurement.ts";
import { roundsOf } from "../measure/rounds.ts";

const rounds = roundsOf(7);

/** In the page: notes when the first row of a list is there, in milliseconds since the navigation began. */
export const noteFirstRow = `new MutationObserver((_, observer) => {
	if (!document.querySelector("main th a")) return;
	observer.disconnect();
	requestAnimationFrame(() => { globalThis.shownAfterMs = performance.now(); });
}).observe(document, { childList: true, subtree: true });`;

/** `/console/sources` of somebody who is signed in, in a browser that has never seen it. */
export async function firstView(
	{ page, open, local }: ConsoleSession,
	say: Say,
): Promise<Measurement[]> {
	await open("sources");
	const url = page.url();
	const browser = page.context().browser() as Browser;
	const storageState = await page.context().storageState();
	const times: number[] = [];
	const bytes: number[] = [];
	for (let round = 0; round < rounds; round++) {
		// Nothing is in its cache.
		const context = await browser.newContext({ storageState });
		const fresh = await context.newPage();
		await fresh.addInitScript(noteFirstRow);
		await fresh.goto(url);
		// A function: its policy lets no page evaluate a text.
		const shown = await fresh.waitForFunction(
			() => (globalThis as { shownAfterMs?: number }).shownAfterMs,
		);
		times.push((await shown.jsonValue())!);
		bytes.push(await bytesOfView(fresh));
		await context.close();
		say(`first view, round ${round + 1}: ${times.at(-1)!.toFixed(0)} ms`);
	}
	const changes = await changesOf({ page, local });
	say(`until a change shows: ${changes.map((ms) => ms.toFixed(0))} ms`);
	return [
		figure("the first view, as it comes over the network", bytes, "bytes", {
			atMost: 150_000,
		}),
		figure("until the first view shows a Source", times, "ms", {
			atMost: 1_000,
		}),
		figure("until an open page shows a change of a Source", changes, "ms", {
			atMost: 2_000,
		}),
	];
}

/** From before the apiserver is asked for a change until the page has painted it. */
async function changesOf({
	page,
	local,
}: Pick<ConsoleSession, "page" | "local">): Promise<number[]> {
	const times: number[] = [];
	await page.getByRole("link", { name: "shop", exact: true }).waitFor();
	for (let round = 0; round < rounds; round++) {
		const displayName = `Named ${round}`;
		const from = performance.now();
		const change = { spec: { displayName } };
		await local.client.patch(
			...([sourceKind, "shop", local.namespace, change, "merge"] as const),
		);
		await page.getByText(displayName, { exact: true }).first().waitFor();
		await page.evaluate(afterTwoFrames);
		times.push(performance.now() - from);
	}
	return times;
}
