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

describe.skipIf(noBrowser)("Tokens in the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-tokens", [
			"tidemill-editor",
			"tidemill-admin",
		]);
	});
	afterAll(() => visitor?.close());

	test.each([
		["by mouse", "by-mouse", withMouse],
		["by keyboard alone", "by-keys", withKeyboard],
	] as const)(
		"a token is made, works, is shown once, and is refused after it was revoked, %s",
		async (_how, name, handsOf) => {
			const { page, open } = visitor;
			const hands = handsOf(page);
			await open("tokens");
			await expectPage(page, "Tokens");
			await hands.follow("New token");
			await hands.fill("Token name", name);
			await expectPage(page, "New token");
			await hands.press("Create");
			await expectPage(page, `Token ${name} is ready`);
			const token = await page
				.getByRole("region", { name: "The token" })
				.innerText();
			const pipelines = new URL("/v1/pipelines", page.url());
			const status = async () => {
				const headers = { Authorization: `Bearer ${token.trim()}` };
				return (await fetch(pipelines, { headers })).status;
			};
			expect(await status()).toBe(200);

			await hands.press("I have copied it");
			await hands.follow(name);
			await expectPage(page, name);
			expect(await page.content()).not.toContain(token.trim());
			await hands.press("Revoke");
			const question = page.getByRole("dialog");
			await question.getByText("is refused from then on").waitFor();
			const sure = question.getByRole("button", { name: "Revoke" });
			expect(await sure.isDisabled()).toBe(true);
			await hands.fill(`Type ${name} to confirm`, name);
			await hands.press("Revoke", question);
			await page.getByRole("heading", { level: 1, name: "Tokens" }).waitFor();
			await vi.waitFor(async () => expect(await status()).toBe(401), {
				timeout: 30_000,
				// More often, the account's rate limit answers.
				interval: 1000,
			});
			expect(visitor.complaints).toEqual([]);
		},
	);

	test("a name that can't be is named at the field, which gets the focus; so is one that exists", async () => {
		const { page, open } = visitor;
		const hands = withMouse(page);
		await open("tokens/new");
		await hands.fill("Token name", "No Name");
		await hands.press("Create");
		const field = page.getByLabel("Token name", { exact: true });
		await expectInvalid(field);
		await expectPage(page, "New token");
		await hands.fill("Token name", "twice");
		await hands.press("Create");
		await expectPage(page, "Token twice is ready");
		await open("tokens/new");
		await hands.fill("Token name", "twice");
		await hands.press("Create");
		await page.getByRole("alert").getByText("twice").waitFor();
	});

	test("who may not make tokens isn't offered to", async () => {
		const viewer = await openConsole(
			"console-tokens",
			["tidemill-viewer"],
			visitor.local,
		);
		try {
			const { page, open } = viewer;
			await page.getByRole("link", { name: "Sources" }).waitFor();
			expect(await page.getByRole("link", { name: "Tokens" }).count()).toBe(0);
			await open("tokens");
			await expectPage(page, "No access");
		} finally {
			await viewer.close();
		}
	});
});
