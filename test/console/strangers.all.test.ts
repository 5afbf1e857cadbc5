// In make test: test/console/every-page.laptop.test.ts
import type { Locator, Page, Route } from "playwright-core";
import {
	afterAll,
	beforeAll,
	describe,
	expect,
	onTestFinished,
	test,
} from "vitest";
import { pipelineKind } from "../../crds/generated/types.ts";
import {
	type AttackedShop,
	attack,
	attackShop,
	leftOfAttack,
	tag,
	turned,
} from "./attack.ts";
import {
	type ConsoleSession,
	expectPage,
	noBrowser,
	openConsole,
	untilLoaded,
} from "./browser.ts";
import { withMouse } from "./hands.ts";
import { createPipeline } from "./shop.ts";

/* What strangers write is a text on every page that shows it: no script runs, no element is made, no policy has to stop anything. */

describe.skipIf(noBrowser)("what strangers write", () => {
	let visitor: ConsoleSession;
	let shop: AttackedShop;

	beforeAll(async () => {
		visitor = await openConsole("console-strangers", [
			"tidemill-editor",
			"tidemill-admin",
			"tidemill-log-reader",
		]);
		shop = await attackShop(visitor);
	});
	afterAll(async () => {
		await visitor?.close();
		shop?.stop();
	});

	const region = (name: string | RegExp) => (page: Page) =>
		page.getByRole("region", { name });

	/** Each page with the places of it that show what a stranger wrote, after what somebody does to see them. */
	const pages: Record<
		string,
		{
			path: () => string;
			/** Answers in place of the API what nobody but a machine of ours writes. */
			answer?: (page: Page) => Promise<unknown>;
			act?: (page: Page) => Promise<void>;
			shows: ((page: Page) => Locator)[];
			/** What each of them shows; by default the tag, and the turning character as a code. */
			texts?: readonly string[];
		}
	> = {
		"names of sources": { path: () => "sources", shows: [region("Sources")] },
		"an event, its type, body, headers and violations": {
			path: () => `sources/strange?event=${shop.planned}`,
			shows: [
				region(/^Event /),
				region("Body"),
				region("Headers"),
				region("Stored events"),
			],
		},
		"refused requests": {
			path: () => "sources/strange",
			shows: [region("Refused requests")],
			// A header that no Source captures is Latin-1 (RFC 9110, section 5.5), so these are other characters.
			texts: [tag, "\\u0080®gnp.exe"],
		},
		"events as they come": {
			path: () => "sources/strange",
			act: async (page) => {
				await withMouse(page).press("Follow new events");
				await page.getByText("New events show here as they come.").waitFor();
				await shop.sendEvent();
			},
			shows: [region("Live")],
		},
		"a source's form and its YAML": {
			path: () => "sources/strange/edit",
			act: openYaml,
			shows: [
				(page) => page.getByText(/The text has hidden characters/),
				(page) => page.getByLabel("YAML of this Source"),
			],
		},
		"names of destinations": {
			path: () => "destinations",
			shows: [region("Destinations")],
		},
		"a warehouse's words": {
			path: () => "destinations/strange",
			shows: [region("State"), (page) => page.getByRole("main")],
		},
		"names of pipelines": {
			path: () => "pipelines",
			shows: [region("Pipelines")],
		},
		"a pipeline and its YAML": {
			path: () => "pipelines/strange",
			act: openYaml,
			shows: [
				(page) => page.getByRole("main"),
				(page) => page.getByLabel("YAML of this Pipeline"),
			],
		},
		"columns that a run has made of bodies": {
			path: () => "pipelines/strange-columns",
			shows: [region("Columns that events have brought")],
		},
		"tables that a run has made for types of events": {
			path: () => "pipelines/strange-types",
			shows: [region("Tables of event types")],
		},
		"columns from the bodies of events, and a preview": {
			path: () => "pipelines/new?source=strange&destination=warehouse",
			act: async (page) => {
				await page.getByRole("heading", { name: "Preview" }).waitFor();
			},
			shows: [
				(page) => page.locator(".suggestions"),
				(page) => page.locator(".preview"),
			],
		},
		"a run that failed, its attempts, its columns and its log": {
			path: () => `runs/${shop.run}`,
			answer: (page) =>
				page.route(/\/logs\?/, (route) =>
					route.fulfill({
						contentType: "text/plain",
						body: `${attack}\n${JSON.stringify({ level: "warn", msg: attack, [attack]: attack })}\n`,
					}),
				),
			shows: [
				region("Why it failed"),
				region("State"),
				region("Failed attempts"),
				region("Values that don't fit"),
				(page) => page.locator(".log"),
			],
		},
		"names of tracking plans": {
			path: () => "tracking-plans",
			shows: [region("Tracking plans")],
		},
		"a tracking plan and its YAML": {
			path: () => "tracking-plans/strange",
			shows: [
				(page) => page.getByRole("main"),
				(page) => page.getByLabel("YAML of this TrackingPlan"),
			],
		},
		"a plan that is drafted from events": {
			path: () => "tracking-plans/new",
			act: async (page) => {
				const hands = withMouse(page);
				await hands.choose("Draft from recent events: Source", "strange");
				await hands.press("Draft the plan");
				await page.getByText(/^Drafted from/).waitFor();
			},
			shows: [(page) => page.getByLabel("YAML of this TrackingPlan")],
		},
		"what a dry run finds": {
			path: () => "tracking-plans/strange",
			act: async (page) => {
				const hands = withMouse(page);
				await hands.choose("Try it on history: Source", "strange");
				await hands.press("Try the plan");
			},
			shows: [region("What differs")],
		},
		"events in quarantine": {
			path: () => "tracking-plans/strange",
			act: (page) => withMouse(page).press("Show events in quarantine"),
			shows: [region("Events in quarantine")],
		},
		"an event that is searched": {
			path: () => `search?event=${shop.planned}`,
			shows: [region(/^[0-9a-f]{8}-/)],
		},
		"who is signed in, and the namespaces": {
			path: () => "runs",
			answer: (page) => page.route(/\/console\/session\?/, asAttacker),
			act: (page) => page.locator(".visitor summary").click(),
			shows: [
				(page) => page.locator(".visitor-name"),
				(page) => page.locator(".menu p"),
			],
		},
	};

	test.each(Object.entries(pages))(
		"%s",
		async (_name, { path, answer, act, shows, texts = [tag, turned] }) => {
			const { page, open, complaints } = visitor;
			onTestFinished(() => page.unrouteAll({ behavior: "ignoreErrors" }));
			await answer?.(page);
			await open(path());
			await page.getByRole("heading", { level: 1 }).waitFor();
			await untilLoaded(page);
			await act?.(page);
			for (const place of shows.map((one) => one(page)))
				for (const text of texts)
					await place.filter({ hasText: text }).first().waitFor();
			expect(await leftOfAttack(page)).toEqual([]);
			expect(complaints).toEqual([]);
		},
	);

	test("YAML that somebody pastes, right and wrong", async () => {
		const { page, open, complaints } = visitor;
		await open("pipelines/new");
		await openYaml(page);
		const pasted = (spec: object) =>
			JSON.stringify({
				...{ apiVersion: "tidemill.dev/v1alpha1", kind: "Pipeline" },
				metadata: { name: attack, labels: { [attack]: attack } },
				spec: { sourceRef: { name: attack }, ...spec },
			});
		const paste = (text: string) =>
			withMouse(page).write("YAML of this Pipeline", text);
		await paste(pasted({ displayName: attack, table: { name: attack } }));
		await page
			.getByText(/The text has hidden characters/)
			.first()
			.waitFor();
		expect(await page.getByLabel("Table name").inputValue()).toBe(attack);
		expect(await leftOfAttack(page)).toEqual([]);
		await paste(pasted({ [attack]: attack }));
		await page
			.getByText(/spec has no field/)
			.first()
			.waitFor();
		expect(await leftOfAttack(page)).toEqual([]);
		await paste(`kind: ${attack}\n: - [${attack}`);
		await page.getByText(/The form can't show this YAML/).waitFor();
		expect(await leftOfAttack(page)).toEqual([]);
		expect(complaints).toEqual([]);
	});

	test("what the API says of fields, also of those that a form doesn't have", async () => {
		const { page, open, complaints } = visitor;
		onTestFinished(() => page.unrouteAll({ behavior: "ignoreErrors" }));
		await open("pipelines/new?source=strange&destination=warehouse");
		// The API names what was sent; this one names it everywhere.
		await page.route(/\/v1\/pipelines(\?|$)/, (route) =>
			route.fulfill({
				status: 422,
				contentType: "application/problem+json",
				json: {
					...{ code: "InvalidResource", status: 422, title: attack },
					detail: attack,
					details: [
						{ path: "table.name", message: attack },
						{ path: attack, message: attack },
					],
				},
			}),
		);
		await openYaml(page);
		const hands = withMouse(page);
		await hands.fill("Integration name", "refused");
		await hands.press("Create");
		const alert = page
			.getByRole("alert")
			.filter({ hasText: "That didn't work" });
		await alert.getByText(turned).first().waitFor();
		const field = page.getByLabel("Table name", { exact: true });
		const described = (await field.getAttribute("aria-describedby"))!;
		const error = page.locator(`[id="${described.split(" ").at(-1)}"]`);
		for (const text of [tag, turned])
			await error.filter({ hasText: text }).waitFor();
		expect(await leftOfAttack(page)).toEqual([]);
		expect(complaints).toEqual([]);
	});

	test("what somebody else changed meanwhile", async () => {
		const { page, open, local, complaints } = visitor;
		const hands = withMouse(page);
		await createPipeline(visitor, "disputed");
		await open("pipelines/disputed/edit");
		await hands.fill("Integration name", "Mine");
		await local.client.apply(
			pipelineKind,
			{
				metadata: { name: "disputed", namespace: local.namespace },
				spec: {
					displayName: attack,
					sourceRef: { name: "shop" },
					destinationRef: { name: "warehouse" },
					table: {
						bodyColumns: [
							{ name: "strange", bodyPointer: `/${attack}`, type: "String" },
						],
					},
				},
			} as never,
			{ fieldManager: "stranger", force: true },
		);
		await hands.press("Save");
		const question = page.getByRole("dialog");
		for (const text of [tag, turned])
			await question.filter({ hasText: text }).waitFor();
		expect(await leftOfAttack(page)).toEqual([]);
		expect(complaints).toEqual([]);
	});

	const inAddress = encodeURIComponent(attack);
	const addresses = [
		// It is shown as the address has it, encoded.
		[`nowhere/${inAddress}`, false],
		...["sources", "destinations", "pipelines", "tracking-plans", "tokens"].map(
			(kind) => [`${kind}/${inAddress}`, true] as const,
		),
		[`runs/${inAddress}`, true],
		[`sources/${inAddress}/edit`, true],
		[`search?event=${inAddress}`, false],
		[
			`sources/strange?${["type", "state", "text", "from", "to", "event", "provider"].map((name) => `${name}=${inAddress}`).join("&")}`,
			false,
		],
		[
			`runs?view=calendar&pipeline=${inAddress}&status=${inAddress}&month=${inAddress}&date=${inAddress}`,
			true,
		],
		[`pipelines/new?source=${inAddress}&destination=${inAddress}`, false],
		[`sources/new?provider=${inAddress}`, false],
		[`sources#${inAddress}`, false],
	] as const;

	test.each(
		addresses.map(
			([path, isShown]) =>
				[path.replaceAll(inAddress, "…"), path, isShown] as const,
		),
	)("an address of somebody else's, %s", async (_label, path, isShown) => {
		const { page, open, complaints } = visitor;
		await open(path);
		await page.getByRole("heading", { level: 1 }).waitFor();
		await untilLoaded(page);
		if (isShown)
			await page.getByText(turned).first().waitFor({ state: "attached" });
		expect(await leftOfAttack(page)).toEqual([]);
		expect(complaints).toEqual([]);
	});

	test("another namespace in the address, signed in and signed out", async () => {
		const { page, complaints, open } = visitor;
		await open("sources");
		const url = new URL(page.url());
		url.searchParams.set("namespace", attack);
		url.hash = attack;
		await page.goto(url.href);
		await page.getByRole("alert").filter({ hasText: "namespace" }).waitFor();
		expect(await leftOfAttack(page)).toEqual([]);
		await page.getByRole("link", { name: "Go to the sources" }).click();
		await page.getByRole("navigation", { name: "Main" }).waitFor();
		await page.context().clearCookies();
		await page.goto(url.href);
		await page.reload();
		await expectPage(page, "Sign in");
		expect(await leftOfAttack(page)).toEqual([]);
		expect(complaints).toEqual([]);
	});
});

/** Answers that the visitor is called so, and sees a namespace of that name. */
async function asAttacker(route: Route): Promise<void> {
	const headers = await route.request().allHeaders();
	const answer = await route.fetch({
		// Chromium adds it when the request leaves.
		headers: { ...headers, "sec-fetch-site": "same-origin" },
	});
	const session = (await answer.json()) as { namespaces: string[] };
	const namespaces = [...session.namespaces, attack];
	await route.fulfill({
		response: answer,
		json: { ...session, namespaces, user: attack },
	});
}

async function openYaml(page: Page): Promise<void> {
	await page.locator("summary", { hasText: "YAML" }).click();
}
