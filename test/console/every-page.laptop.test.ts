import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noBrowser } from "./browser.ts";
import {
	openShop,
	patterns,
	type ShopVisitor,
	untilThere,
} from "./every-page-scene.ts";

/* Each page opens in Chromium, and shows no secret. What else holds of each: every-page.all.test.ts. */

describe.skipIf(noBrowser)("each page of the console opens", () => {
	let visitor: ShopVisitor;
	/** Values of the namespace's Secrets. */
	let secrets: string[];

	beforeAll(async () => {
		visitor = await openShop("console-opens");
		const { items } = await visitor.local.resource<{
			items: { data?: Record<string, string> }[];
		}>("get", "secrets");
		secrets = items
			.flatMap(({ data = {} }) => Object.values(data))
			.map((value) => Buffer.from(value, "base64").toString())
			.filter((value) => value.length >= 20);
	});
	afterAll(() => visitor?.close());

	test("there are secrets that a page could show", () => {
		expect(secrets).not.toEqual([]);
	});

	test.each([...patterns, "", "nowhere"])("%s", async (pattern) => {
		const { page, open, pathOf, complaints } = visitor;
		await open(pathOf(pattern));
		await untilThere(page);
		expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
		expect(complaints).toEqual([]);
		const text = await page.content();
		expect(secrets.filter((value) => text.includes(value))).toEqual([]);
	});
});
