import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { trackingPlanKind } from "../../crds/generated/types.ts";
import { type ConsoleSession, openConsole, untilLoaded } from "./browser.ts";
import { applySourceAndDestination, createPipeline, send } from "./shop.ts";

/** The addresses of all pages as the console lists them, such as `pipelines/:name`; a new page is among them by itself. */
export const patterns = [
	...readFileSync(
		join(import.meta.dirname, "../../console/app/pages.ts"),
		"utf8",
	).matchAll(/^\t"?([\w/:-]+)"?: async /gm),
].map(([, pattern]) => pattern!);

export interface ShopVisitor extends ConsoleSession {
	/** The address of a page, with the name of an object that is there. */
	pathOf(pattern: string): string;
}

/** A visitor with all rights in a namespace that has one object of each kind, and an ended Run. */
export async function openShop(namespace: string): Promise<ShopVisitor> {
	const visitor = await openConsole(namespace, [
		...["tidemill-editor", "tidemill-admin", "tidemill-log-reader"],
	]);
	const { local } = visitor;
	await applySourceAndDestination(visitor);
	await createPipeline(visitor, "orders");
	await send(visitor, { type: "order.paid", id: 1 });
	await local.run("tidemill", "pipelines", "run", "orders", "--wait");
	const runs = await local.run("kubectl", "get", "runs", "-o", "name");
	await local.client.apply(
		trackingPlanKind,
		{
			metadata: { name: "orders", namespace: local.namespace },
			spec: { eventType: { bodyPointer: "/type" }, events: [] },
		} as never,
		{ fieldManager: "somebody" },
	);
	await local.run("tidemill", "tokens", "create", "robot", "--scope=read");
	const names: Record<string, string> = {
		sources: "shop",
		destinations: "warehouse",
		pipelines: "orders",
		runs: runs.trim().split("/").at(-1)!,
		"tracking-plans": "orders",
		tokens: "robot",
	};
	return {
		...visitor,
		pathOf(pattern) {
			const [kind] = pattern.split("/");
			return pattern.replace(":name", names[kind!]!);
		},
	};
}

export async function untilThere(page: Page): Promise<void> {
	await page.getByRole("heading", { level: 1 }).first().waitFor();
	await untilLoaded(page);
}
