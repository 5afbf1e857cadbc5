// In make test: test/console/every-page.laptop.test.ts
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeFindings, noBrowser } from "./browser.ts";
import {
	openShop,
	patterns,
	type ShopVisitor,
	untilThere,
} from "./every-page-scene.ts";
import { withMouse } from "./hands.ts";

/* What holds of each page, also of one that is added: no finding of axe in either theme, and no scrolling aside. */

const sizes = [
	{ width: 1280, height: 900 },
	// A phone, and a page at 400 % (WCAG 2.2, 1.4.10).
	{ width: 320, height: 700 },
];

describe.skipIf(noBrowser)("each page of the console", () => {
	let visitor: ShopVisitor;

	beforeAll(async () => {
		visitor = await openShop("console-pages");
	});
	afterAll(() => visitor?.close());

	test.each([...patterns, "", "nowhere"])("%s", async (pattern) => {
		const { page, open, pathOf, complaints } = visitor;
		const path = pathOf(pattern);
		for (const size of sizes) {
			await page.setViewportSize(size);
			await open(path);
			await untilThere(page);
			expect([size.width, await axeFindings(page)]).toEqual([size.width, []]);
			expect([size.width, await asideOf(page)]).toEqual([size.width, []]);
		}
		await page.setViewportSize(sizes[0]!);
		expect(complaints).toEqual([]);
	});

	test("of the sign-in, too", async () => {
		const { page, open } = visitor;
		const cookies = await page.context().cookies();
		await page.context().clearCookies();
		for (const size of sizes) {
			await page.setViewportSize(size);
			await open("sources");
			for (const label of ["Token", "Sign in"])
				await page
					.getByLabel(label, { exact: true })
					.or(page.getByRole("button", { name: label, exact: true }))
					.waitFor();
			expect(await axeFindings(page)).toEqual([]);
			expect(await asideOf(page)).toEqual([]);
		}
		await page.context().addCookies(cookies);
		await page.setViewportSize(sizes[0]!);
	});

	test("fields and buttons have the names that tests and assistive tools know them by", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		const fields = async (...labels: string[]) => {
			for (const label of labels)
				await page.getByLabel(label, { exact: true }).waitFor();
		};
		await open("sources/new");
		await fields("Namespace", "Source name", "Authorization type");
		await hands.choose("Authorization type", "CustomToken");
		await fields("Custom token");
		await open("sources/shop");
		const url = page.getByLabel("Webhook URL", { exact: true });
		expect(await url.inputValue()).toMatch(/^http.*\/hooks\//);
		expect(await url.isEditable()).toBe(false);
		await open("pipelines/new");
		await hands.choose("Schedule type", "Daily");
		await fields("Integration name", "Table name", "Date start", "Date end");
		await fields("Overwrite period", "Schedule type", "Update time");
		await page.locator(".visitor summary").click();
		await page.getByRole("button", { name: "Sign out", exact: true }).waitFor();
	});

	test("who wants less motion gets none", async () => {
		const { page, open } = visitor;
		await open("sources");
		await untilThere(page);
		const motion = () => page.evaluate(motionOfSkeleton);
		expect(await motion()).toBe("none");
		await page.emulateMedia({ reducedMotion: "no-preference" });
		expect(await motion()).not.toBe("none");
		await page.emulateMedia({ reducedMotion: "reduce" });
	});
});

/** What stands out of the page's width, so that the whole page scrolls aside; a table or a code in a box may scroll by itself. */
function asideOf(page: Page): Promise<string[]> {
	return page.evaluate(inPage) as Promise<string[]>;
}

const inPage = `(() => {
	const { scrollWidth, clientWidth } = document.documentElement;
	if (scrollWidth <= clientWidth) return [];
	return [...document.querySelectorAll("body *")]
		.filter((one) => one.getBoundingClientRect().right > clientWidth + 1)
		.map((one) => one.outerHTML.slice(0, 150))
		.slice(0, 5)
		.concat(scrollWidth + " of " + clientWidth);
})()`;

/** What a page shows while it loads. */
const motionOfSkeleton = `(() => {
	const skeleton = document.createElement("div");
	skeleton.className = "skeleton";
	skeleton.append(document.createElement("div"));
	document.querySelector("main").append(skeleton);
	const { animationName } = getComputedStyle(skeleton.firstChild);
	skeleton.remove();
	return animationName;
})()`;
