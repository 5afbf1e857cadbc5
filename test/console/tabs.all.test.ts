// In make test: test/console/every-page.laptop.test.ts
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	bytesOfView,
	type ConsoleSession,
	noBrowser,
	openConsole,
} from "./browser.ts";

/** A browser opens six connections to a server. */
const tabs = 8;

describe.skipIf(noBrowser)("many tabs of the console", () => {
	let visitor: ConsoleSession;

	beforeAll(async () => {
		visitor = await openConsole("console-tabs", ["tidemill-editor"]);
	});
	afterAll(() => visitor?.close());

	test("the first view takes at most 150 KB of the network", async () => {
		const { page } = visitor;
		await page.reload();
		await page.getByText("No sources yet").waitFor();
		expect(await bytesOfView(page)).toBeLessThan(150_000);
	});

	test("eight tabs show a change by one stream, and go on when the tab that read it is closed", async () => {
		const { page: first, local } = visitor;
		const context = first.context();
		// By then it has opened its stream.
		await first.getByText("No sources yet").waitFor();
		const streams: string[] = [];
		context.on("request", (request) => {
			if (request.url().includes("/v1/changes")) streams.push(request.url());
		});
		const others = await Promise.all(
			Array.from({ length: tabs - 1 }, async () => {
				const page = await context.newPage();
				await page.goto(first.url());
				await page.getByText("No sources yet").waitFor();
				return page;
			}),
		);
		expect(streams).toEqual([]);
		await local.run("tidemill", "sources", "create", "one");
		await Promise.all(
			[first, ...others].map((page) =>
				page.getByRole("link", { name: "one", exact: true }).waitFor(),
			),
		);

		await first.close();
		await local.run("tidemill", "sources", "create", "two");
		await Promise.all(
			others.map((page) =>
				page.getByRole("link", { name: "two", exact: true }).waitFor(),
			),
		);
		expect(streams).toHaveLength(1);
		await Promise.all(others.map((page) => page.close()));
	});

	test("eight tabs that follow the events of one Source read one tail", async () => {
		const {
			page: second,
			local,
			open,
		} = await openConsole(
			"console-tabs",
			["tidemill-editor", "tidemill-admin"],
			visitor.local,
		);
		const context = second.context();
		const tails: string[] = [];
		context.on("request", (request) => {
			if (request.url().includes("/events/tail")) tails.push(request.url());
		});
		await open("sources/one");
		const pages = [
			second,
			...(await Promise.all(
				Array.from({ length: tabs - 1 }, async () => {
					const page = await context.newPage();
					await page.goto(second.url());
					return page;
				}),
			)),
		];
		for (const page of pages)
			await page.getByRole("button", { name: "Follow new events" }).click();
		await second.getByText("New events show here as they come.").waitFor();
		const sent = local.run(
			...(["tidemill", "events", "send", "one"] as const),
			...["--data", '{"note":"for all tabs"}'],
		);
		await sent;
		await Promise.all(
			pages.map((page) =>
				page
					.getByRole("region", { name: "Live" })
					.getByText("for all tabs")
					.waitFor(),
			),
		);
		expect(tails).toHaveLength(1);
		await context.browser()?.close();
	});
});
