import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
// playwright-core: drives a Chromium that is there, and brings none.
import {
	type Browser,
	type BrowserContextOptions,
	type BrowserServer,
	chromium,
	type LaunchOptions,
	type Locator,
	type Page,
} from "playwright-core";
import { expect } from "vitest";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

/** Debian's Chromium, and the Chrome of GitHub's machines. */
const usualPaths = ["/usr/bin/chromium", "/usr/bin/google-chrome"];

/** The one that CHROMIUM names, or one that is there. */
export function chromiumPath(): string | undefined {
	return [process.env.CHROMIUM, ...usualPaths].find(
		(path) => path !== undefined && existsSync(path),
	);
}

/** Why the tests of the console are skipped; undefined where they run. */
export const noBrowser: string | undefined =
	chromiumPath() === undefined
		? "There is no Chromium. Install Debian's (apt-get install -y chromium), or name the path of one in CHROMIUM."
		: undefined;

/** The console of a namespace of its own, in a browser, as somebody with some roles. */
export interface ConsoleSession {
	local: LocalMode;
	page: Page;
	/** Opens an address below the console, such as `pipelines/new`. */
	open(path: string): Promise<void>;
	/** What the page said on the browser's console that it shouldn't. */
	complaints: string[];
	close(): Promise<void>;
}

/** Without it, a test on a slow machine fails where a person would only wait. */
export const aWhile = { timeout: 180_000 };

/**
 * @param roles of Tidemill, such as `tidemill-editor`, in the namespace
 * @param local the namespace, if it is there already
 */
export async function openConsole(
	namespace: string,
	roles: readonly string[],
	local?: LocalMode,
): Promise<ConsoleSession> {
	const where = local ?? (await openLocalMode(namespace));
	const token = await tokenOf(where, roles);
	const url = await apiURL(where);
	const { page, complaints, close } = await openPage();
	const open = async (path: string) => {
		const to = new URL(`/console/${path}`, url);
		to.searchParams.set("namespace", where.namespace);
		await page.goto(to.href);
	};
	await open("sources");
	await page.getByLabel("Token").fill(token);
	await page.getByRole("button", { name: "Sign in" }).click();
	await page.getByRole("navigation").waitFor();
	return { local: where, page, open, complaints, close };
}

/**
 * An empty page that shares neither cookies nor storage with another.
 * @param addresses by host name, where they aren't those of DNS
 */
export async function openPage(
	options: BrowserContextOptions = {},
	addresses: Readonly<Record<string, string>> = {},
): Promise<Pick<ConsoleSession, "page" | "complaints" | "close">> {
	const browser = await openBrowser(addresses);
	const context = await browser.newContext({
		viewport: { width: 1280, height: 900 },
		reducedMotion: "reduce",
		...options,
	});
	const page = await context.newPage();
	page.setDefaultTimeout(aWhile.timeout);
	const complaints: string[] = [];
	page.on("pageerror", (error) => complaints.push(String(error.stack)));
	page.on("dialog", (dialog) => {
		// A form with changes asks, and whoever opens another address goes on.
		if (dialog.type() === "beforeunload") return dialog.accept();
		complaints.push(`dialog ${dialog.message()}`);
		return dialog.dismiss();
	});
	await page.exposeFunction("complain", (text: string) => {
		complaints.push(text);
	});
	await page.addInitScript(complainOfViolations);
	return { page, complaints, close: () => browser.close() };
}

/** A connection to the browser that test/console shares, which nobody else's pages and cookies reach; elsewhere, one of its own. */
export function openBrowser(
	addresses: Readonly<Record<string, string>> = {},
): Promise<Browser> {
	const { SHARED_BROWSER: shared } = process.env;
	const rules = Object.entries(addresses).map(
		(pair) => `MAP ${pair.join(" ")}`,
	);
	return shared && rules.length === 0
		? chromium.connect(shared)
		: chromium.launch(launchOptions(rules));
}

/** Names a browser in SHARED_BROWSER for the processes that start from here: each start burns a second of CPU time. */
export async function shareBrowser(): Promise<BrowserServer> {
	const server = await chromium.launchServer({
		...launchOptions([]),
		host: "127.0.0.1",
	});
	process.env.SHARED_BROWSER = server.wsEndpoint();
	return server;
}

function launchOptions(rules: readonly string[]): LaunchOptions {
	return {
		executablePath: chromiumPath()!,
		args: [
			...(rules.length > 0 ? [`--host-resolver-rules=${rules.join(",")}`] : []),
			// Root has no sandbox of its own in a container.
			...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
		],
	};
}

/** In the page: tells what its policy stops, but for styles that Chromium itself keeps on lines while somebody edits them. */
const complainOfViolations = `document.addEventListener(
	"securitypolicyviolation",
	(event) => {
		const { effectiveDirective, blockedURI, sample } = event;
		const [at] = event.composedPath();
		const isEdited = at.closest?.("[contenteditable=true]");
		if (effectiveDirective === "style-src-attr" && isEdited) return;
		const place = at.outerHTML?.slice(0, 300);
		complain([effectiveDirective, blockedURI, sample, place].join(" "));
	},
	true,
);`;

/** The local mode's API, as `$TIDEMILL_HOME/env` says. */
export async function apiURL(local: LocalMode): Promise<string> {
	const url = await local.run("sh", "-c", "echo $TIDEMILL_API_URL");
	return url.trim();
}

/** A token of a new ServiceAccount with these roles in the namespace. */
export async function tokenOf(
	local: LocalMode,
	roles: readonly string[],
): Promise<string> {
	const account = `visitor-${roles.join("-").replaceAll("tidemill-", "") || "nobody"}`;
	await local.run("kubectl", "create", "serviceaccount", account);
	for (const role of roles)
		await local.run(
			"kubectl",
			"create",
			"rolebinding",
			`${account}-${role}`,
			`--clusterrole=${role}`,
			`--serviceaccount=${local.namespace}:${account}`,
		);
	// A session ends with its token.
	const token = await local.run(
		"kubectl",
		"create",
		"token",
		account,
		"--duration=2h",
	);
	return token.trim();
}

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe finds on the page, in both themes. */
export async function axeFindings(page: Page): Promise<string[]> {
	const axe = await readFile(axePath, "utf8");
	const found: string[] = [];
	// Evaluated by the debugger, which the page's Content-Security-Policy doesn't concern. A second one would be compiled anew.
	await page.evaluate(`globalThis.axe ?? (() => {${axe}})(); 0`);
	for (const colorScheme of ["light", "dark"] as const) {
		await page.emulateMedia({ colorScheme });
		const violations = await page.evaluate(async () => {
			const { axe } = globalThis as unknown as {
				axe: {
					run(): Promise<{
						violations: { id: string; nodes: { target: string[] }[] }[];
					}>;
				};
			};
			return (await axe.run()).violations.map(
				({ id, nodes }) =>
					`${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`,
			);
		});
		found.push(...violations.map((one) => `${colorScheme} ${one}`));
	}
	await page.emulateMedia({ colorScheme: "light" });
	return found;
}

/** What the page asks for when it opens is there. */
export async function untilLoaded(page: Page): Promise<void> {
	for (const loading of await page.locator(".skeleton").all())
		await loading.waitFor({ state: "detached" });
}

/** A page that has the heading, and nothing that axe finds. */
export async function expectPage(page: Page, title: string | RegExp) {
	const exact = typeof title === "string";
	await page.getByRole("heading", { level: 1, name: title, exact }).waitFor();
	expect(await axeFindings(page), String(title)).toEqual([]);
}

/** Waits until a field says that its value is wrong. */
export async function expectInvalid(field: Locator): Promise<void> {
	await field.and(field.page().locator('[aria-invalid="true"]')).waitFor();
}

/** In the page: what has come is on the page once two frames are painted. */
export const afterTwoFrames =
	"new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/** Of the page and of all that it has loaded since, as they came over the network or would without a cache: bodies, compressed. */
export function bytesOfView(page: Page): Promise<number> {
	return page.evaluate(
		`["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type)).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
	);
}
