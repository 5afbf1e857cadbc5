// In make test: test/console/every-page.laptop.test.ts
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { trackingPlanKind } from "../../crds/generated/types.ts";
import {
	aWhile,
	axeFindings,
	type ConsoleSession,
	expectPage,
	noBrowser,
	openConsole,
} from "./browser.ts";
import { withMouse } from "./hands.ts";
import { applySourceAndDestination, createPipeline, send } from "./shop.ts";

/* What goes wrong while a page is open, each with the real thing. */

/** A role that is taken away or given shows within a minute, and on a busy machine later. */

describe.skipIf(noBrowser)("what goes wrong in the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-errors", ["tidemill-editor"]);
		await applySourceAndDestination(visitor);
		await createPipeline(visitor, "orders");
		await applyPlan(visitor);
	});
	afterAll(() => visitor?.close());

	test("an API that is away is said, nothing that was typed is lost, and the page comes back by itself", async () => {
		const { page, open, local, complaints } = visitor;
		const hands = withMouse(page);
		await open("sources/new");
		await hands.fill("Source name", "typed-before");
		const lost = page.getByText(/^Connection lost\./);
		await local.whileAway("api", async () => {
			await lost.waitFor(aWhile);
			await hands.press("Create");
			await page
				.getByRole("alert")
				.getByText("The API doesn't answer.")
				.waitFor();
			expect(await axeFindings(page)).toEqual([]);
			await rename(visitor, "pipeline", "orders", "Named meanwhile");
		});
		await lost.waitFor({ ...aWhile, state: "detached" });
		await hands.press("Create");
		await expectPage(page, "typed-before");
		await hands.follow("Pipelines");
		await page.getByText("Named meanwhile").waitFor();
		expect(complaints).toEqual([]);
	});

	test("a page whose file never comes has loaded itself again a few times, then says so and leaves it to the visitor", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		await open("sources");
		await expectPage(page, "Sources");
		await page.evaluate(
			`history.replaceState({ ...history.state, missing: { count: 5, atMs: Date.now() } }, "")`,
		);
		await page.reload();
		await expectPage(page, "Sources");
		await page.route(/assets\/pipeline-list-/, (route) =>
			route.fulfill({ status: 404 }),
		);
		await hands.follow("Pipelines");
		await page.getByText(/^A file of this page still isn't there\./).waitFor();
		await expectPage(page, "This page failed");
		await page.unrouteAll({ behavior: "ignoreErrors" });
		await hands.press("Reload");
		await expectPage(page, "Pipelines");
		expect(complaints).toEqual([]);
	});

	test("a form whose fields couldn't be loaded says so at each place, and has them once the page is loaded again", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		const notLoaded = page.getByText("These fields couldn't be loaded.");
		const ofSchema = page.getByLabel("If it doesn't fit the columns");
		await open("pipelines");
		await expectPage(page, "Pipelines");
		// The CRD's text is a file by itself, so that no page loads it before a form needs it.
		await page.route(/assets\/pipelines-/, (route) =>
			route.fulfill({ status: 404 }),
		);
		await hands.follow("New pipeline");
		await notLoaded.first().waitFor();
		expect(await ofSchema.count()).toBe(0);
		expect(await axeFindings(page)).toEqual([]);
		await page.unrouteAll({ behavior: "ignoreErrors" });
		await page.reload();
		await ofSchema.waitFor();
		expect(await notLoaded.count()).toBe(0);
		expect(complaints).toEqual([]);
	});

	test("an event that was asked for while the API was away comes by itself, on its Source's page and in the search", async () => {
		const { page, open, local, complaints } = visitor;
		const id = await send(visitor, { note: "asked for meanwhile" });
		const detail = page.getByRole("region", { name: `Event ${id}` });
		const fails = page.getByText("The API doesn't answer.");
		const itself = page.getByText("This page tries again by itself.");
		await open("sources/shop");
		const listed = page.getByRole("button", { name: id });
		await listed.waitFor();
		await local.whileAway("api", async () => {
			await listed.click();
			await detail.locator(fails).waitFor();
			await detail.locator(itself).waitFor();
			expect(await axeFindings(page)).toEqual([]);
		});
		await detail.getByText("asked for meanwhile").waitFor();
		await detail.locator(fails).waitFor({ state: "detached" });

		const hands = withMouse(page);
		await open("search");
		await hands.fill("Event id", id);
		await local.whileAway("api", async () => {
			await hands.press("Search");
			await fails.waitFor();
			await itself.waitFor();
			expect(await axeFindings(page)).toEqual([]);
		});
		await page.getByText("Found in the source shop").waitFor();
		expect(await fails.count()).toBe(0);
		expect(complaints).toEqual([]);
	});

	test("the preview of a Pipeline and the calendar that couldn't be read come by themselves", async () => {
		const { page, open, local, complaints } = visitor;
		await send(visitor, { note: "previewed" });
		await open("pipelines/orders/edit");
		const preview = page.getByRole("region", { name: "Preview" });
		await preview.getByText("previewed").waitFor();
		const calendar = await page.context().newPage();
		await calendar.goto(
			page.url().replace("pipelines/orders/edit?", "runs?view=calendar&"),
		);
		await calendar.getByRole("table").waitFor();
		const fails = "The API doesn't answer.";
		const itself = "This page tries again by itself.";
		await local.whileAway("api", async () => {
			await withMouse(page).press("Refresh the preview");
			await withMouse(calendar).choose("Status", "Succeeded");
			for (const each of [preview, calendar.getByRole("main")]) {
				await each.getByText(fails).waitFor();
				await each.getByText(itself).waitFor();
			}
			expect(await axeFindings(page)).toEqual([]);
		});
		await preview.getByText("previewed").waitFor();
		for (const each of [preview, calendar.getByRole("main")])
			await each.getByText(fails).waitFor({ state: "detached" });
		await calendar.close();
		expect(complaints).toEqual([]);
	});

	test("an API that wants to be left alone is asked again by who presses the button", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		const id = await send(visitor, { note: "later" });
		let asked = 0;
		await page.route(`**/v1/events/${id}`, (route) =>
			asked++ === 0
				? route.fulfill({
						...{ status: 429, json: { ...forbidden, code: "RateLimited" } },
						headers: { "retry-after": "3600" },
					})
				: route.continue(),
		);
		await open(`search?event=${id}`);
		await page.getByText("The apiserver is starting.").waitFor();
		expect(asked).toBe(1);
		await hands.press("Try again");
		await page.getByText("Found in the source shop").waitFor();
		const main = page.getByRole("main");
		expect(await main.getByRole("alert").count()).toBe(0);
		await page.unrouteAll({ behavior: "ignoreErrors" });
		expect(complaints).toEqual([]);
	});

	test("who leaves a page before the answer comes isn't taken elsewhere by it", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		const answer = Promise.withResolvers<void>();
		await page.route("**/v1/pipelines/orders/run*", async (route) => {
			await answer.promise;
			await route.continue();
		});
		await open("pipelines/orders");
		await hands.press("Run now");
		await hands.follow("Destinations");
		await expectPage(page, "Destinations");
		answer.resolve();
		await page.getByText(/^The run orders-.* has started/).waitFor();
		await expectPage(page, "Destinations");
		await page.unrouteAll({ behavior: "ignoreErrors" });
		expect(complaints).toEqual([]);
	});

	test("a form holds its changes from the moment in which they are made, and lets go of them as fast", async () => {
		const { page, open } = visitor;
		await open("sources/shop/edit");
		const field = page.getByLabel("Display name", { exact: true });
		await field.waitFor();
		const isHeld = (value: string) =>
			field.evaluate(async (element, text) => {
				const input = element as unknown as { value: string } & EventTarget;
				input.value = text;
				input.dispatchEvent(new Event("input", { bubbles: true }));
				// The page renders in a microtask, and paints later.
				for (let i = 0; i < 10; i++) await undefined;
				const leaving = new Event("beforeunload", { cancelable: true });
				return !(globalThis as unknown as EventTarget).dispatchEvent(leaving);
			}, value);
		const before = await field.inputValue();
		expect(await isHeld("Changed")).toBe(true);
		expect(await isHeld(before)).toBe(false);
	});

	/** Each form with the name of what it changes. */
	const forms = [
		["source", "sources", "shop", "Display name"],
		["destination", "destinations", "warehouse", "Display name"],
		["pipeline", "pipelines", "orders", "Integration name"],
		["trackingplan", "tracking-plans", "orders", "Display name"],
	] as const;

	test.each(forms)(
		"an edit of a %s elsewhere is shown beside one's own",
		async (kind, path, name, label) => {
			const { page, open, local, complaints } = visitor;
			const hands = withMouse(page);
			await open(formOf(path, name));
			await hands.fill(label, "Mine");
			await rename(visitor, kind, name, "Theirs");
			await hands.press("Save");
			const question = page.getByRole("dialog");
			await question.getByText("Somebody else changed this").waitFor();
			await question.getByText("Theirs", { exact: true }).last().waitFor();
			expect(await axeFindings(page)).toEqual([]);
			await hands.press("Save both changes");
			await question.waitFor({ state: "detached" });
			await vi.waitFor(async () => {
				const { spec } = await local.resource<{ spec: object }>(
					...(["get", kind, name] as const),
				);
				expect(spec).toMatchObject({ displayName: "Mine" });
			}, aWhile);
			expect(complaints).toEqual([]);
		},
	);

	test("what somebody deletes while its form is open can't be saved, and the form says so", async () => {
		const { page, open, local } = visitor;
		const hands = withMouse(page);
		await createPipeline(visitor, "deleted");
		await open("pipelines/deleted/edit");
		await hands.fill("Overwrite period", "5");
		await local.run("kubectl", "delete", "pipeline", "deleted");
		await hands.press("Save");
		await page.getByRole("alert").getByText("deleted").waitFor();
		expect(await page.getByLabel("Overwrite period").inputValue()).toBe("5");
		expect(await axeFindings(page)).toEqual([]);
	});

	test.each([
		["sources/new", "Source name", "No Name"],
		["destinations/new", "Destination name", "No Name"],
		["pipelines/new", "Resource name", "No Name"],
		["tracking-plans/new", "Plan name", "No Name"],
		["search", "Event id", "no id"],
	])(
		"an invalid field is named at the field, which has the focus: %s",
		async (path, label, wrong) => {
			const { page, open } = visitor;
			await open(path);
			const field = page.getByLabel(label, { exact: true });
			await field.fill(wrong);
			await page.locator("main button[type=submit]").click();
			await vi.waitFor(async () => {
				expect(await field.getAttribute("aria-invalid")).toBe("true");
				expect(await isFocused(page, label)).toBe(true);
			}, aWhile);
			const described = (await field.getAttribute("aria-describedby"))!;
			const [last] = described.split(" ").reverse();
			expect(await page.locator(`[id="${last}"]`).innerText()).not.toBe("");
			expect(await axeFindings(page)).toEqual([]);
		},
	);

	test("a tail that is refused says so, and goes on by itself when it is allowed", async () => {
		const { page, open, complaints } = visitor;
		const hands = withMouse(page);
		let isRefused = true;
		await page.route(/\/events\/tail\?/, (route) =>
			isRefused
				? route.fulfill({ status: 403, json: forbidden })
				: route.continue(),
		);
		await open("sources/shop");
		await hands.press("Follow new events");
		const live = page.getByRole("region", { name: "Live" });
		await live.getByText("The apiserver is starting.").waitFor();
		await live.getByText(/^No new events show until/).waitFor();
		expect(await axeFindings(page)).toEqual([]);
		isRefused = false;
		await live.getByText("New events show here as they come.").waitFor(aWhile);
		await page.unrouteAll({ behavior: "ignoreErrors" });
		await send(visitor, { note: "after the refusal" });
		await live.getByText("after the refusal").waitFor();
		expect(await live.getByRole("alert").count()).toBe(0);
		expect(complaints).toEqual([]);
	});

	test("what a visitor may list and not watch is listed, with a word that it isn't live", async () => {
		const { local } = visitor;
		await local.run(
			...(["kubectl", "create", "clusterrole", "console-lists"] as const),
			...["--verb=get,list", "--resource=sources.tidemill.dev"],
		);
		const lister = await openConsole(local.namespace, ["console-lists"], local);
		try {
			const { page, open, complaints } = lister;
			await page.getByRole("link", { name: "shop", exact: true }).waitFor();
			await page
				.getByText(/^Your role may list sources, but not watch/)
				.waitFor();
			await expectPage(page, "Sources");
			await open("sources/shop");
			await expectPage(page, "shop");
			await open("pipelines");
			await expectPage(page, "No access");
			expect(complaints).toEqual([]);
		} finally {
			await lister.close();
		}
	});

	test("a right that is taken away while a form is open is said by the API, then by the page, which comes back with the right", async () => {
		const { page, open, local, complaints } = visitor;
		const hands = withMouse(page);
		await open("pipelines/orders/edit");
		await hands.fill("Overwrite period", "4");
		await local.run(
			...(["kubectl", "create", "rolebinding", "looks"] as const),
			...["--clusterrole=tidemill-viewer", account],
		);
		await local.run("kubectl", "delete", "rolebinding", editing);
		await untilForbidden(visitor);
		const save = page.getByRole("button", { name: "Save", exact: true });
		const refused = page.getByRole("alert").getByText(/lacks the right/);
		const readOnly = page.getByText("You may see this, but not change it.");
		// On a slow machine, the page has heard of it before.
		await save.click().catch(() => undefined);
		await refused.or(readOnly).first().waitFor(aWhile);
		await readOnly.waitFor(aWhile);
		expect(await save.count()).toBe(0);
		expect(await axeFindings(page)).toEqual([]);

		await local.run("kubectl", "delete", "rolebinding", "looks");
		await hands.follow("Sources");
		await expectNoAccess(page);
		await local.run(
			...(["kubectl", "create", "rolebinding", editing] as const),
			...["--clusterrole=tidemill-editor", account],
		);
		await page.getByRole("link", { name: "shop", exact: true }).waitFor(aWhile);
		await page.getByRole("link", { name: "New source" }).waitFor(aWhile);
		expect(complaints).toEqual([]);
	});
});

const forbidden = {
	...{ status: 403, code: "Forbidden", title: "Forbidden" },
	detail: "The apiserver is starting.",
};

const account = "--serviceaccount=console-errors:visitor-editor";
/** As openConsole calls it. */
const editing = "visitor-editor-tidemill-editor";

function formOf(path: string, name: string): string {
	return path === "tracking-plans" ? `${path}/${name}` : `${path}/${name}/edit`;
}

async function rename(
	{ local }: ConsoleSession,
	kind: string,
	name: string,
	displayName: string,
): Promise<void> {
	await local.run(
		...(["kubectl", "patch", kind, name, "--type=merge"] as const),
		...["-p", JSON.stringify({ spec: { displayName } })],
	);
}

/** The apiserver reads what roles are bound in its own time. */
async function untilForbidden({ local }: ConsoleSession): Promise<void> {
	const who = `--as=system:serviceaccount:${local.namespace}:visitor-editor`;
	await vi.waitFor(async () => {
		const answer = await local
			.run("kubectl", "auth", "can-i", "update", "pipelines", who)
			// It ends with 1 beside a "no".
			.catch(({ stdout }: { stdout: string }) => stdout);
		expect(answer.trim()).toBe("no");
	}, aWhile);
}

async function expectNoAccess(page: Page): Promise<void> {
	await page.getByRole("heading", { name: "No access" }).waitFor(aWhile);
	expect(await axeFindings(page)).toEqual([]);
}

function isFocused(page: Page, label: string): Promise<boolean> {
	return page
		.getByLabel(label, { exact: true })
		.evaluate((element) => element.ownerDocument.activeElement === element);
}

async function applyPlan({ local }: ConsoleSession): Promise<void> {
	await local.client.apply(
		trackingPlanKind,
		{
			metadata: { name: "orders", namespace: local.namespace },
			spec: { eventType: { bodyPointer: "/type" }, events: [] },
		} as never,
		{ fieldManager: "somebody" },
	);
}
