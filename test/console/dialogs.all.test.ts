// In make test: test/console/every-page.laptop.test.ts
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runKind, trackingPlanKind } from "../../crds/generated/types.ts";
import {
	axeFindings,
	type ConsoleSession,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { type Hands, withKeyboard } from "./hands.ts";
import {
	applySourceAndDestination,
	createPipeline,
	patch,
	send,
} from "./shop.ts";

/* Dialogs on the keyboard: the focus goes in, stays inside in the order of what is read, and goes back to where it was. */

describe.skipIf(noBrowser)("dialogs of the console", () => {
	let visitor: ConsoleSession;
	let run: string;

	beforeAll(async () => {
		visitor = await openConsole("console-dialogs", [
			"tidemill-editor",
			"tidemill-admin",
		]);
		const { local } = visitor;
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
		await local.run(
			...(["tidemill", "pipelines", "create", "early"] as const),
			...["--source=not-yet", "--destination=warehouse"],
		);
		const created = await local.client.create(runKind, {
			metadata: { name: "early-1", namespace: local.namespace },
			spec: { pipelineRef: { name: "early" } },
		} as never);
		run = created.metadata.name!;
		await local.run("tidemill", "tokens", "create", "robot", "--scope=read");
		await quarantineOne(visitor);
	});
	afterAll(() => visitor?.close());

	const typed = (name: string) => `Type ${name} to confirm`;

	/** How each opens, and what Tab reaches in it, in that order. */
	test.each<
		[
			title: string,
			path: () => string,
			open: (hands: Hands) => Promise<void>,
			stops: string[],
		]
	>([
		...(
			[
				["shop", "sources/shop"],
				["warehouse", "destinations/warehouse"],
				["orders", "pipelines/orders"],
			] as const
		).map(
			([name, path]) =>
				[
					`Delete ${name}?`,
					() => path,
					(hands: Hands) => hands.press("Delete"),
					[typed(name), "Cancel"],
				] as [string, () => string, (hands: Hands) => Promise<void>, string[]],
		),
		[
			"A new URL for shop?",
			() => "sources/shop",
			(hands) => hands.press("New URL"),
			[typed("shop"), "Cancel"],
		],
		[
			"Revoke robot?",
			() => "tokens/robot",
			(hands) => hands.press("Revoke"),
			[typed("robot"), "Cancel"],
		],
		[
			"Cancel early-1?",
			() => `runs/${run}`,
			(hands) => hands.press("Cancel run"),
			["Let it run", "Cancel run"],
		],
		[
			"Leave without saving?",
			() => "sources/shop/edit",
			async (hands) => {
				await hands.fill("Display name", "Changed");
				await hands.follow("Runs");
			},
			["Stay", "Leave"],
		],
		[
			"Run orders",
			() => "pipelines/orders",
			(hands) => hands.press("Run other dates…"),
			["Load only these UTC dates", "From", "To", "Cancel", "Start run"],
		],
		[
			"Release 1 event?",
			() => "tracking-plans/strict",
			async (hands) => {
				await hands.press("Show events in quarantine");
				await hands.press("Release all…");
			},
			["Cancel", "Release"],
		],
		[
			"Somebody else changed this",
			() => "pipelines/orders/edit",
			async (hands) => {
				await hands.fill("Overwrite period", "5");
				await patch(visitor, "orders", { overwritePeriodDays: 3 });
				await hands.press("Save");
			},
			[
				"Keep yours for overwritePeriodDays",
				...["Back to the form", "Discard mine", "Save both changes"],
			],
		],
	])("%s", async (title, path, openDialog, stops) => {
		const { page, open, complaints } = visitor;
		await open(path());
		await page.getByRole("heading", { level: 1 }).waitFor();
		await openDialog(withKeyboard(page));
		const dialog = page.getByRole("dialog", { name: title });
		await dialog.waitFor();
		expect(await axeFindings(page)).toEqual([]);
		expect(await stopsOf(page)).toEqual(stops);
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "detached" });
		await page.locator("body :focus").waitFor();
		expect(complaints).toEqual([]);
	});
});

/** One event that the plan of its Source holds back. */
async function quarantineOne(visitor: ConsoleSession): Promise<void> {
	const { local } = visitor;
	const { namespace } = local;
	const spec = {
		eventType: { bodyPointer: "/type" },
		events: [],
		onUnplannedEvent: "Quarantine",
	};
	await local.client.apply(
		trackingPlanKind,
		{ metadata: { name: "strict", namespace }, spec } as never,
		{ fieldManager: "somebody" },
	);
	await local.run(
		...(["kubectl", "patch", "source/shop", "--type=merge", "-p"] as const),
		JSON.stringify({
			spec: { webhook: { trackingPlanRef: { name: "strict" } } },
		}),
	);
	await local.run(
		...(["kubectl", "wait", "--for=condition=PlanCurrent"] as const),
		...["--timeout=120s", "source/shop"],
	);
	await send(visitor, { type: "unplanned" });
}

const mostTabs = 50;

/** What has the focus in the open dialog, and what Tab reaches from there, until it comes back to the first. Outside is an error. */
async function stopsOf(page: Page): Promise<string[]> {
	const stops: string[] = [];
	for (let tabs = 0; tabs < mostTabs; tabs++) {
		const stop = (await page.evaluate(focused)) as string;
		const isBack = stops.length > 1 && stop === stops[0];
		if (stop === "" || isBack) return stops;
		// A date has several stops of its own.
		if (stop !== stops.at(-1)) stops.push(stop);
		await page.keyboard.press("Tab");
	}
	throw new Error(`Tab finds no end: ${stops}`);
}

/** In the page. After the last stop the browser's own controls have the focus, so that the page's body is active. */
const focused = `(() => {
	const { activeElement: at } = document;
	if (at === document.body) return "";
	if (!at.closest("dialog[open]")) return "outside: " + at.outerHTML;
	const label = at.labels?.[0] ?? at;
	return (at.ariaLabel ?? label.textContent).trim();
})()`;
