import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noBrowser } from "./browser.ts";
import {
	openShop,
	patterns,
	type ShopVisitor,
	untilThere,
} from "./every-page-scene.ts";

/* Each page opens in Chromium. What else holds of each: every-page.all.test.ts. */

describe.skipIf(noBrowser)("each page of the console opens", () => {
	let visitor: ShopVisitor;

	beforeAll(async () => {
		visitor = await openShop("console-opens");
	});
	afterAll(() => visitor?.close());

	test.each([...patterns, "", "nowhere"])("%s", async (pattern) => {
		const { page, open, pathOf, complaints } = visitor;
		await open(pathOf(pattern));
		await untilThere(page);
		expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
		expect(complaints).toEqual([]);
	});

	test("no secret of the namespace stands on any page", async () => {
		const { page, open, pathOf, local } = visitor;
		const secrets = await local.resource<{
			items: { data?: Record<string, string> }[];
		}>("get", "secrets");
		const values = secrets.items
			.flatMap(({ data = {} }) => Object.values(data))
			.map((value) => Buffer.from(value, "base64").toString())
			.filter((value) => value.length >= 20);
		expect(values).not.toEqual([]);
		for (const pattern of patterns.filter((each) => each.includes(":name"))) {
			await open(pathOf(pattern));
			await untilThere(page);
			const text = await page.content();
			expect(values.filter((value) => text.includes(value))).toEqual([]);
		}
	});
});
