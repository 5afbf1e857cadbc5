// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
	aWhile,
	axeFindings,
	type ConsoleSession,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withMouse } from "./hands.ts";
import {
	applySourceAndDestination,
	createPipeline,
	patch,
	send,
} from "./shop.ts";

/* A click that takes something away asks, or can be undone, as what is lost weighs. */

describe.skipIf(noBrowser)("before something is lost", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-loss", [
			...["tidemill-editor", "tidemill-admin"],
		]);
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
	});
	afterAll(() => visitor?.close());

	test("Suspend says how many events the last hour had and what senders get, and asks", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		const events = [
			await send(visitor, { n: 1 }),
			await send(visitor, { n: 2 }),
		];
		await open("sources/shop");
		const stored = page.getByRole("region", { name: "Stored events" });
		await vi.waitFor(async () => {
			await hands.press("Show the newest", stored);
			for (const id of events)
				await stored.getByText(id).waitFor({ timeout: 10_000 });
		}, aWhile);
		const question = page.getByRole("dialog", { name: "Suspend shop?" });
		await hands.press("Suspend");
		await question.getByText("In the last hour 2 events came.").waitFor();
		await question.getByText(/senders get 403/).waitFor();
		expect(await axeFindings(page)).toEqual([]);
		await hands.press("Cancel", question);
		await question.waitFor({ state: "detached" });
		expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);

		await hands.press("Suspend");
		await hands.press("Suspend", question);
		await page
			.getByText("The source refuses events until it is resumed.")
			.waitFor();
		await hands.press("Resume");
		await page.getByRole("button", { name: "Suspend" }).waitFor();
		expect(complaints).toEqual([]);
	});

	test("the test event isn't a page's first button, and says where its row goes", async () => {
		const { page, open } = visitor;
		await open("sources/shop");
		await page.getByText(/^A test event becomes a row of orders \(/).waitFor();
		const buttons = page.getByRole("main").locator("button, a.button");
		expect(await buttons.first().innerText()).toBe("Edit");
	});

	test("a Source that stops using a plan uses it again by Undo, also from another namespace", async () => {
		const { page, open, local, complaints } = visitor;
		const hands = withMouse(page);
		await open("tracking-plans/new");
		await hands.fill("Plan name", "undone");
		await hands.press("Create");
		await page.getByRole("heading", { level: 1, name: "undone" }).waitFor();
		await hands.choose("Use it for the source", "shop");
		await hands.press("Set the plan");
		await hands.press("Stop using it for shop");
		await page.getByText("No source uses it yet.").waitFor();
		// As by a link on the page, which doesn't load it anew.
		await page.evaluate(`(() => {
			const link = document.createElement("a");
			link.href = "sources?namespace=console-elsewhere";
			document.body.append(link);
			link.click();
			link.remove();
		})()`);
		await page.getByText(/^Your token is of the namespace/).waitFor();
		const patched = page.waitForRequest(
			(request) => request.method() === "PATCH",
		);
		await page
			.locator(".toast", { hasText: "shop has no plan any more." })
			.getByRole("button", { name: "Undo" })
			.click();
		expect((await patched).headers()["tidemill-account"]).toBe(local.namespace);
		await page
			.locator(".toast", { hasText: "shop" })
			.getByText("undone")
			.waitFor();
		await open("tracking-plans/undone");
		await page
			.getByRole("button", { name: "Stop using it for shop" })
			.waitFor();
		const { spec } = await local.resource<{ spec: object }>(
			...(["get", "source", "shop"] as const),
		);
		expect(spec).toMatchObject({
			webhook: { trackingPlanRef: { name: "undone" } },
		});
		await hands.press("Stop using it for shop");
		await page.getByText("No source uses it yet.").waitFor();
		expect(complaints).toEqual([]);
	});

	test("a token that is shown once is asked about until somebody says that it is kept", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("tokens/new");
		await hands.fill("Token name", "shown-once");
		await hands.press("Create");
		await page
			.getByRole("heading", { level: 1, name: "Token shown-once is ready" })
			.waitFor();
		await hands.follow("Sources");
		const question = page.getByRole("dialog", {
			name: "Leave without saving?",
		});
		await question.waitFor();
		await hands.press("Stay", question);
		await hands.press("I have copied it");
		await page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
		expect(await question.count()).toBe(0);
	});

	test("an event whose pipeline is in error waits for that, and not for the next run", async () => {
		const { page, open, complaints } = visitor;
		const id = await send(visitor, { n: 3 });
		await patch(visitor, "orders", { destinationRef: { name: "nowhere" } });
		await open(`sources/shop?event=${id}`);
		const detail = page.getByRole("region", { name: `Event ${id}` });
		await detail
			.getByText("Waits until the pipeline's error is corrected")
			.waitFor();
		expect(await page.getByText("The next run loads it").count()).toBe(0);
		expect(await axeFindings(page)).toEqual([]);
		await patch(visitor, "orders", { destinationRef: { name: "warehouse" } });
		await detail.getByText("The next run loads it").waitFor();
		expect(complaints).toEqual([]);
	});

	test("a list of a day says none only at its end", async () => {
		const { page, open } = visitor;
		const asked: URL[] = [];
		await page.route(/\/v1\/runs\?/, async (route) => {
			const url = new URL(route.request().url());
			asked.push(url);
			const isFirst = !url.searchParams.has("cursor");
			await route.fulfill({
				json: { items: [], ...(isFirst && { cursor: "next" }) },
			});
		});
		await open("runs?date=2026-03-01");
		await page.getByRole("button", { name: "Show older runs" }).waitFor();
		const none = page.getByText("No run matches the filter.");
		expect(await none.count()).toBe(0);
		await withMouse(page).press("Show older runs");
		await none.waitFor();
		expect(
			asked.map(({ searchParams }) => [
				searchParams.get("from"),
				searchParams.get("to"),
			]),
		).toEqual([
			["2026-03-01", "2026-03-01"],
			["2026-03-01", "2026-03-01"],
		]);
		await page.unrouteAll({ behavior: "ignoreErrors" });
	});

	test("a day of which some runs failed shows how many failed and how many didn't", async () => {
		const { page, open } = visitor;
		const run = (n: number) => ({
			...{ name: `orders-${n}`, pipeline: "orders" },
			status: n < 20 ? "Failed" : "Succeeded",
			createTime: "2026-03-01T10:00:00Z",
		});
		await page.route(/\/v1\/runs\?/, (route) => {
			const { searchParams } = new URL(route.request().url());
			const isMonth =
				searchParams.get("from") === "2026-02-23" &&
				searchParams.get("to") === "2026-04-05";
			const items = isMonth
				? Array.from({ length: 343 }, (_, n) => run(n))
				: [];
			return route.fulfill({ json: { items } });
		});
		await open("runs?view=calendar&month=2026-03");
		const day = page.getByRole("link", { name: "2026-03-01" });
		await day.waitFor();
		expect(await day.locator(".badge").allInnerTexts()).toEqual(["323", "20"]);
		await page.unrouteAll({ behavior: "ignoreErrors" });
	});
});
