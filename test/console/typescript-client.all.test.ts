// In make test: test/console/every-page.laptop.test.ts
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
	projectWithClient,
	quickStartSeen,
} from "../ecosystem/typescript/packed-client.ts";
import { openLocalMode } from "../support/servers/local-mode.ts";
import { apiURL, noBrowser, openBrowser, tokenOf } from "./browser.ts";

describe.skipIf(noBrowser)("The TypeScript client in a browser", () => {
	test("a page on the API's origin does the quick start with the client's package, without a bundler", async () => {
		const local = await openLocalMode("browser-client");
		const token = await tokenOf(local, ["tidemill-editor"]);
		const origin = await serve(
			join(await projectWithClient(), "node_modules/@tidemill/client/dist"),
			new URL(await apiURL(local)),
		);
		const browser = await openBrowser();
		onTestFinished(() => browser.close());
		const page = await browser.newPage();
		const mistakes: string[] = [];
		page.on("pageerror", (error) => mistakes.push(String(error)));
		await page.goto(`${origin}/`);
		const seen = await page.evaluate(`(async () => {
			const { Tidemill } = await import("@tidemill/client");
			const { quickStart } = await import("/quick-start.mjs");
			const token = ${JSON.stringify(token)};
			return quickStart(new Tidemill({ url: location.origin + "/v1", token }));
		})()`);
		expect(seen).toEqual(quickStartSeen);
		expect(mistakes).toEqual([]);
	});
});

const page = `<!doctype html><title>Shop</title>
<script type="importmap">{"imports": {"@tidemill/client": "/client/index.js"}}</script>`;

/** A site of somebody else with the API below `/v1`, as one ingress makes it. Returns its origin. */
async function serve(dist: string, api: URL): Promise<string> {
	const program = join(
		import.meta.dirname,
		"../local-mode/typescript-client/quick-start.mjs",
	);
	const server = createServer(async (incoming, answer) => {
		const { pathname } = new URL(incoming.url!, api);
		const { method, headers } = incoming;
		if (pathname.startsWith("/v1/")) {
			const onward = request(
				new URL(incoming.url!, api),
				{ method, headers: { ...headers, host: api.host } },
				(response) => {
					answer.writeHead(response.statusCode!, response.headers);
					response.pipe(answer);
				},
			);
			onward.on("error", () => answer.destroy());
			incoming.pipe(onward);
			return;
		}
		if (pathname === "/") {
			answer.setHeader("content-type", "text/html").end(page);
			return;
		}
		const file =
			pathname === "/quick-start.mjs"
				? program
				: join(dist, pathname.replace(/^\/client\//, ""));
		const code = await readFile(file).catch(() => undefined);
		answer.writeHead(code ? 200 : 404, { "content-type": "text/javascript" });
		answer.end(code);
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
