// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
	type ConsoleSession,
	expectInvalid,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withKeyboard, withMouse } from "./hands.ts";

describe.skipIf(noBrowser)("Destinations in the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-destinations", ["tidemill-editor"]);
	});
	afterAll(() => visitor?.close());

	test.each([
		["by mouse", "files-by-mouse", withMouse],
		["by keyboard alone", "files-by-keys", withKeyboard],
	] as const)(
		"somebody makes a DuckDB Destination, and checks it again, %s",
		async (_how, name, handsOf) => {
			const { page, open, local } = visitor;
			const hands = handsOf(page);
			await open("destinations");
			await hands.follow("New destination");
			await hands.fill("Destination name", name);
			await hands.fill("Path of the file", `${name}.duckdb`);
			await expectPage(page, "New destination");
			await hands.press("Create");
			await page.getByRole("heading", { level: 1, name }).waitFor();
			await page.getByText("Ready: True").waitFor();
			await expectPage(page, name);
			const checked = async () =>
				(
					await local.resource<{ status: { lastCheck: { time: string } } }>(
						"get",
						"destination",
						name,
					)
				).status.lastCheck.time;
			const before = await checked();
			await vi.waitFor(
				async () => {
					await hands.press("Check now");
					expect(await checked()).not.toBe(before);
				},
				{ timeout: 30_000, interval: 1_000 },
			);
			await open("destinations");
			await page.getByRole("rowheader", { name }).waitFor();
			await expectPage(page, "Destinations");
			expect(visitor.complaints).toEqual([]);
		},
	);

	test("each type of warehouse has its fields, and the API's errors stand at them", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("destinations/new");
		await hands.fill("Destination name", "wrong");
		for (const [type, field] of [
			["Postgres", "TLS mode"],
			["ClickHouse", "URL"],
			["BigQuery", "Project"],
		] as const) {
			await hands.choose("Type", type);
			await page.getByLabel(field, { exact: true }).waitFor();
			await expectPage(page, "New destination");
		}
		await hands.choose("Type", "DuckDB");
		await hands.fill("Path of the file", "../outside.duckdb");
		await hands.press("Create");
		await expectInvalid(page.getByLabel("Path of the file"));
	});

	test("each other field of the CRD is there, of the chosen type alone, and its value is in the YAML", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("destinations/new");
		await hands.fill("Destination name", "others");
		await page.getByText("All other fields").click();
		const others = page.locator("details", { hasText: "All other fields" });
		await others.getByLabel("serviceAccountName").fill("loader");
		await others.getByLabel("checkTemplate.nodeSelector").fill("disk: fast");
		expect(await others.getByLabel(/^(postgres|bigQuery)/).count()).toBe(0);
		await expectPage(page, "New destination");
		await page.getByText("YAML", { exact: true }).click();
		for (const line of ["serviceAccountName: loader", "disk: fast"])
			await page.getByText(line).waitFor();
		await hands.choose("Type", "Postgres");
		await others
			.getByLabel(/^postgres/)
			.first()
			.waitFor();
		await hands.fill("Destination name", "");
	});
});
