// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openLocalMode } from "../support/servers/local-mode.ts";
import {
	type ConsoleSession,
	expectPage,
	noBrowser,
	openConsole,
	openPage,
	untilLoaded,
} from "./browser.ts";
import { withMouse } from "./hands.ts";
import { applySourceAndDestination, createPipeline, send } from "./shop.ts";

/* Who sees what, and how they come in. */

describe.skipIf(noBrowser)("visitors of the console", () => {
	let editor: ConsoleSession;
	let event: string;

	beforeAll(async () => {
		editor = await openConsole("console-visitors", ["tidemill-editor"]);
		await applySourceAndDestination(editor);
		await createPipeline(editor, "orders");
		event = await send(editor, { note: "what only some may read" });
	});
	afterAll(() => editor?.close());

	const lists = [
		...["Home", "Sources", "Destinations", "Pipelines", "Runs"],
		...["Tracking plans", "Search"],
	];
	const offers = {
		"pipelines/orders": ["Run now", "Run other dates…", "Edit", "Delete"],
		"sources/shop": [
			...["Send test event", "Edit", "Suspend", "New URL", "Delete"],
		],
		"destinations/warehouse": ["Check now", "Edit", "Delete"],
		"tracking-plans": ["New tracking plan"],
		tokens: ["New token"],
	};
	const { tokens: _, ...ofEditor } = offers;
	type Offers = Partial<Record<keyof typeof offers, string[]>>;

	/** What each role has in the navigation, and what of {@link offers}; a page that is absent says that there is no access. */
	test.each<[role: string, links: string[], offered: Offers]>([
		[
			"viewer",
			lists,
			{
				"pipelines/orders": [],
				"sources/shop": [],
				"destinations/warehouse": [],
				"tracking-plans": [],
			},
		],
		[
			"runner",
			["Pipelines", "Runs"],
			{ "pipelines/orders": ["Run now", "Run other dates…"] },
		],
		["editor", lists, ofEditor],
		["admin", ["Tokens"], { tokens: ["New token"] }],
	])("a %s is offered what the role can", async (role, links, offered) => {
		const visitor =
			role === "editor"
				? editor
				: await openConsole(
						"console-visitors",
						[`tidemill-${role}`],
						editor.local,
					);
		try {
			const { page, open, complaints } = visitor;
			await open("");
			const navigation = page.getByRole("navigation", { name: "Main" });
			await navigation.getByRole("link").first().waitFor();
			expect(await navigation.getByRole("link").allInnerTexts()).toEqual(links);
			// The console begins with what the visitor may see.
			await expectPage(page, links[0]!);
			for (const [path, buttons] of Object.entries(offers)) {
				await open(path);
				await page.getByRole("heading", { level: 1 }).waitFor();
				await untilLoaded(page);
				const mine = offered[path as keyof Offers];
				const isClosed =
					(await page.getByRole("heading", { name: "No access" }).count()) > 0;
				expect([path, isClosed]).toEqual([path, mine === undefined]);
				for (const name of buttons) {
					const main = page.getByRole("main");
					const button = main
						.getByRole("button", { name, exact: true })
						.or(main.getByRole("link", { name, exact: true }));
					expect([path, name, await button.count()]).toEqual([
						...[path, name, mine?.includes(name) ? 1 : 0],
					]);
				}
			}
			expect(complaints).toEqual([]);
		} finally {
			if (visitor !== editor) await visitor.close();
		}
	});

	test("who may not read bodies sees of an event what isn't its body", async () => {
		const viewer = await openConsole(
			"console-visitors",
			["tidemill-viewer", "tidemill-runner"],
			editor.local,
		);
		const path = `sources/shop?event=${event}`;
		try {
			for (const [{ page, open }, isRead] of [
				[editor, true],
				[viewer, false],
			] as const) {
				await open(path);
				const detail = page.getByRole("region", { name: `Event ${event}` });
				await detail
					.getByText(
						isRead ? "what only some" : "Your role doesn't show bodies.",
					)
					.waitFor();
				expect((await page.content()).includes("what only some")).toBe(isRead);
				expect(await page.getByLabel("Text in the body").count()).toBe(
					isRead ? 1 : 0,
				);
			}
		} finally {
			await viewer.close();
		}
	});

	test("another namespace's objects don't show, whatever the address says", async () => {
		const { page, open, local } = editor;
		await local.run("kubectl", "create", "namespace", "console-neighbour");
		await local.run(
			...(["kubectl", "apply", "--namespace=console-neighbour", "-f"] as const),
			"examples/quickstart/source.yaml",
		);
		await open("sources");
		const here = new URL(page.url());
		here.searchParams.set("namespace", "console-neighbour");
		await page.goto(here.href);
		await expectPage(page, "No access");
		await page
			.getByText(/^Your token is of the namespace “console-visitors”/)
			.waitFor();
		expect(await page.getByText(/^Connection lost/).count()).toBe(0);
		await withMouse(page).follow("Go to console-visitors");
		await page.getByRole("link", { name: "shop", exact: true }).waitFor();
	});

	test("a session that ends while a form asks whether it may be left goes on, after the next sign-in, at the form and what is in it", async () => {
		const { local } = editor;
		const leaver = await openConsole(
			...([local.namespace, ["tidemill-editor", "tidemill-viewer"]] as const),
			local,
		);
		try {
			const { page, open, complaints } = leaver;
			const hands = withMouse(page);
			await open("sources/shop/edit");
			await hands.fill("Display name", "Never saved");
			await hands.follow("Runs");
			const question = page.getByRole("dialog");
			await question.waitFor();
			const other = await page.context().newPage();
			await other.goto(page.url());
			await other
				.getByText(/visitor-editor-viewer$/)
				.first()
				.click();
			await other.getByRole("button", { name: "Sign out" }).click();
			await page.getByText(/^Your session has ended\./).waitFor();
			expect(await question.count()).toBe(0);
			const token = await local.run(
				...(["kubectl", "create", "token", "visitor-editor-viewer"] as const),
			);
			await hands.fill("Token", token.trim());
			await hands.press("Sign in");
			await expectPage(page, "Edit shop");
			const field = page.getByLabel("Display name");
			expect(await field.inputValue()).toBe("Never saved");
			await hands.press("Discard changes");
			await hands.follow("Runs");
			await expectPage(page, "Runs");
			expect(complaints).toEqual([]);
		} finally {
			await leaver.close();
		}
	});

	test("an address that the console doesn't have is its own 404", async () => {
		const { page, open } = editor;
		for (const path of ["nowhere", "sources/shop/nothing", "runs/a/b/c"]) {
			await open(path);
			await expectPage(page, "Page not found");
			await page.getByText(`The console has no page at “${path}”.`).waitFor();
		}
		await withMouse(page).follow("Go to the sources");
		await expectPage(page, "Sources");
	});

	test("the line of `tidemill console` signs one browser in, once, and leaves nothing in the address", async () => {
		const local = await openLocalMode();
		const line = await local.run("tidemill", "console");
		const url = /http:\/\/\S+#\S+/.exec(line)![0];
		const first = await openPage();
		const second = await openPage();
		try {
			await first.page.goto(url);
			await expectPage(first.page, "Home");
			expect(first.page.url()).not.toContain(url.split("#")[1]);
			const links = first.page.getByRole("navigation", { name: "Main" });
			expect(await links.getByRole("link").allInnerTexts()).toContain("Tokens");
			expect(
				await first.page.evaluate(
					"localStorage.length + sessionStorage.length",
				),
			).toBe(0);
			expect(await first.page.evaluate("document.cookie")).toBe("");

			await second.page.goto(url);
			await second.page
				.getByRole("alert")
				.getByText("tidemill console")
				.waitFor();
			await expectPage(second.page, "Sign in");
			expect(first.complaints.concat(second.complaints)).toEqual([]);
		} finally {
			await first.close();
			await second.close();
		}
	});
});
