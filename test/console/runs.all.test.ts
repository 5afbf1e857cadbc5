// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	afterTwoFrames,
	type ConsoleSession,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withMouse } from "./hands.ts";
import { applySourceAndDestination, createPipeline, send } from "./shop.ts";

/** As the API lists it; older than all that the stream has. */
function runOf(name: string) {
	return {
		...{ name, pipeline: "orders", status: "Failed", trigger: "Schedule" },
		createTime: "2026-01-15T12:00:00Z",
		completionTime: "2026-01-15T12:01:00Z",
	};
}

describe.skipIf(noBrowser)("Runs in the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-runs", ["tidemill-editor"]);
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
		await send(visitor, { id: 1 });
		await visitor.local.run("tidemill", "pipelines", "run", "orders", "--wait");
	});
	afterAll(() => visitor?.close());

	test("a Run is in the list, by filter, and on its day of the calendar", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("runs");
		const run = page.getByRole("rowheader", { name: /^orders-/ });
		await run.waitFor();
		await hands.choose("Status", "Succeeded");
		await run.waitFor();
		expect(page.url()).toContain("status=Succeeded");
		await expectPage(page, "Runs");
		await hands.choose("Status", "Failed");
		await page.getByText("No run matches the filter.").waitFor();
		await hands.choose("Status", "");
		await hands.choose("View", "calendar");
		const today = new Date().toISOString().slice(0, 10);
		await page.getByRole("link", { name: `${today}: 1 Succeeded` }).waitFor();
		await expectPage(page, "Runs");
		await hands.follow(new RegExp(`${today}: 1 Succeeded`));
		await run.waitFor();
	});

	test("a month of 10,000 Runs is counted from one page, and from all of them when somebody asks", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		const asked: string[] = [];
		await page.route(/\/v1\/runs\?/, (route) => {
			const query = new URL(route.request().url()).searchParams;
			const number = Number(query.get("cursor") ?? 0);
			asked.push(`${query.get("limit")} from ${number}`);
			return route.fulfill({
				json: {
					items: Array.from({ length: 1_000 }, (_, n) =>
						runOf(`many-${number}-${n}`),
					),
					...(number === 0 && { total: 10_000 }),
					...(number < 9 && { cursor: String(number + 1) }),
				},
			});
		});
		await open("runs?view=calendar&month=2026-01");
		// Without those of the stream, which are of another month.
		await page.getByText(/^The counts are of 1,000 runs of 10,000,/).waitFor();
		await page.getByRole("link", { name: "2026-01-15: 1000 Failed" }).waitFor();
		expect(asked).toEqual(["1000 from 0"]);
		await expectPage(page, "Runs");
		await page.reload();
		await hands.press("Count more runs");
		await page
			.getByRole("link", { name: "2026-01-15: 10000 Failed" })
			.waitFor();
		expect(await page.getByText(/^The counts are of/).count()).toBe(0);
		expect(asked).toEqual([
			"1000 from 0",
			...Array.from({ length: 10 }, (_, n) => `1000 from ${n}`),
		]);
		await page.unrouteAll({ behavior: "ignoreErrors" });
		expect(complaints).toEqual([]);
	});

	test("an older page that comes after the filter has changed isn't mixed into the newer list", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		const release = Promise.withResolvers<void>();
		const answered = Promise.withResolvers<void>();
		await page.route(/\/v1\/runs\?/, async (route) => {
			const query = new URL(route.request().url()).searchParams;
			const isLate = query.has("cursor");
			if (isLate) await release.promise;
			const name = isLate ? "of-before" : `of-${query.get("status") ?? "all"}`;
			const json = { items: [runOf(name)], ...(!isLate && { cursor: "1" }) };
			// Whoever asked may not want it any more.
			await route.fulfill({ json }).catch(() => undefined);
			if (isLate) answered.resolve();
		});
		await open("runs?status=Failed");
		await page.getByRole("rowheader", { name: "of-Failed" }).waitFor();
		const asked = page.waitForRequest(/cursor=1/);
		await hands.press("Show older runs");
		await asked;
		await hands.choose("Status", "");
		await page.getByRole("rowheader", { name: "of-all" }).waitFor();
		release.resolve();
		await answered.promise;
		await page.evaluate(afterTwoFrames);
		expect(await page.getByRole("rowheader", { name: /^of-/ }).count()).toBe(1);
		await page.unrouteAll({ behavior: "ignoreErrors" });
		expect(complaints).toEqual([]);
	});

	test("a Run of a Pipeline that isn't ready waits, says why, and is cancelled", async () => {
		const { page, open, local } = visitor;
		const hands = withMouse(page);
		await local.run(
			"tidemill",
			"pipelines",
			"create",
			"early",
			"--source=not-yet",
			"--destination=warehouse",
		);
		await open("pipelines/early");
		await hands.press("Run now");
		await page.getByRole("heading", { level: 1, name: /^early-/ }).waitFor();
		await page.getByRole("heading", { name: "What it waits for" }).waitFor();
		await expectPage(page, /^early-/);
		await hands.press("Cancel run");
		await hands.press("Cancel run", page.getByRole("dialog"));
		await page.getByText("Cancelled", { exact: true }).first().waitFor();
		await page.getByRole("button", { name: "Run again" }).waitFor();
	});

	test("a Run that isn't there is said", async () => {
		const { page, open } = visitor;
		await open("runs/none");
		await page.getByText(/A pipeline removes its oldest runs\./).waitFor();
		await expectPage(page, "none");
	});
});
