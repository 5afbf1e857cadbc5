// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	aWhile,
	bytesOfView,
	type ConsoleSession,
	expectPage,
	noBrowser,
	openConsole,
	untilLoaded,
} from "./browser.ts";
import { withKeyboard } from "./hands.ts";

describe.skipIf(noBrowser)("The home page, by keyboard alone", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		const roles = ["tidemill-editor", "tidemill-admin", "tidemill-log-reader"];
		visitor = await openConsole("console-home", roles);
	});
	afterAll(() => visitor?.close());

	test("leads from nothing to a row and to the query that shows it, each step done by what has happened", async () => {
		const { page, open, local, complaints } = visitor;
		const hands = withKeyboard(page);
		const steps = page.getByRole("region", { name: "The first five minutes" });
		const toDo = async (number: number) => {
			await hands.follow("Home");
			await expect
				.poll(() => steps.getByText("to do").count(), aWhile)
				.toBe(number);
		};
		await open("");
		await expectPage(page, "Home");
		await toDo(5);
		await hands.follow("Create a source");
		await hands.fill("Source name", "orders");
		await hands.press("Create");
		const url = page.getByLabel("Webhook URL", { exact: true });
		await expect.poll(() => url.inputValue(), aWhile).toMatch(/\/hooks\//);
		await toDo(4);
		await hands.follow("Send it an event");
		await hands.press("Send test event");
		await page.getByText("The first event has arrived.").waitFor();
		// It is sent, and soon stored.
		await toDo(2);
		await hands.follow("Connect a destination");
		await hands.fill("Destination name", "warehouse");
		await hands.fill("Path of the file", "home.duckdb");
		await hands.press("Create");
		await expectPage(page, "warehouse");
		await toDo(1);
		await hands.follow("Load the event with a pipeline");
		await hands.fill("Integration name", "orders");
		const chosen = (label: string) =>
			page.getByLabel(label, { exact: true }).inputValue();
		await expect.poll(() => chosen("Source"), aWhile).toBe("orders");
		expect(await chosen("Destination")).toBe("warehouse");
		await hands.press("Create");
		await hands.press("Run now");
		await page.getByText(/^1 row is in the table/).waitFor();
		await toDo(0);
		const query = page.getByRole("region", { name: "Now ask your table" });
		expect(await local.run("sh", "-c", (await query.textContent())!)).toContain(
			"tidemill.test",
		);
		await expectPage(page, "Home");
		expect(complaints).toEqual([]);
	});

	test("leads to a Pipeline that fails, and to its mended Run", async () => {
		const { page, open, local } = visitor;
		const hands = withKeyboard(page);
		await local.run(
			...(["tidemill", "pipelines", "create", "reports"] as const),
			...["--source=orders", "--destination=nowhere"],
		);
		await open("home");
		const health = page.getByRole("region", { name: "From source to table" });
		await health.getByText(/^DestinationNotFound: /).waitFor();
		await page.getByText("1 of 2 broken").waitFor();
		await expectPage(page, "Home");
		await hands.follow("Edit the pipeline");
		await hands.choose("Destination", "warehouse");
		await hands.press("Save");
		await hands.press("Run now");
		await page.getByText(/^1 row is in the table/).waitFor();
		await hands.follow("Home");
		await page.getByText("All 2 are all right.").waitFor();
		expect(await health.getByRole("link", { name: "Succeeded" }).count()).toBe(
			2,
		);
	});

	test("a bar leads to the events of its date", async () => {
		const { page, open } = visitor;
		const hands = withKeyboard(page);
		await open("home");
		await hands.follow(/^[\d-]{10}: 1 stored, 0 in quarantine$/);
		await page.getByRole("region", { name: "Stored events" }).waitFor();
		expect(new URL(page.url()).searchParams.get("from")).toMatch(/^\d{4}-/);
	});

	test("its first view takes at most 70 KB of the network", async () => {
		const { page, open } = visitor;
		await open("home");
		await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
		await untilLoaded(page);
		expect(await bytesOfView(page)).toBeLessThan(70_000);
	});
});
