// In make test: test/console/every-page.laptop.test.ts
import { globSync, readFileSync } from "node:fs";
import { cp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, request as send } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../local/machine/ports.ts";
import { openLocalMode } from "../support/servers/local-mode.ts";
import {
	project,
	type RoleServer,
	startRole,
} from "../support/servers/role-server.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";
import { apiURL, noBrowser, openPage, tokenOf } from "./browser.ts";
import { withMouse } from "./hands.ts";

/* A rolling upgrade of the API, as pages see it behind a proxy that takes turns. */

/** Less than the minute after which a page looks anyway. */
const soon = { timeout: 40_000 };

describe.skipIf(noBrowser)("while the console is upgraded", () => {
	let built: string;
	let newer: RoleServer;
	let proxy: TurnProxy;
	let first: Awaited<ReturnType<typeof openPage>>;
	let query: string;
	let ports: { old: number; new: number };

	beforeAll(async () => {
		const local = await openLocalMode("console-upgrade");
		built = await laterBuild();
		const port = await freePort();
		newer = await startRole("api", {
			name: "newer-api",
			env: {
				...environmentOf(local.pidOf("api")),
				API_PORT: String(port),
				API_CONSOLE_FILES: built,
			},
		});
		ports = { old: Number(new URL(await apiURL(local)).port), new: port };
		proxy = await TurnProxy.start([ports.old]);
		query = `?namespace=${local.namespace}`;
		const token = await tokenOf(local, ["tidemill-editor"]);
		first = await openPage();
		await first.page.goto(`${proxy.url}/console/sources${query}`);
		await first.page.getByLabel("Token").fill(token);
		await withMouse(first.page).press("Sign in");
		await first.page.getByText("No sources yet").waitFor();
	});
	afterAll(async () => {
		await first?.close();
		await proxy?.close();
		await newer?.stop();
		if (built) await rm(built, { recursive: true, force: true });
	});

	test("a page without typed text becomes new by itself, one with text keeps it and asks, and one that opens between two builds comes", async () => {
		const { page: idle } = first;
		const open = async (path: string) => {
			const page = await idle.context().newPage();
			await page.goto(`${proxy.url}/console/${path}${query}`);
			return page;
		};
		const typing = await open("sources/new");
		await withMouse(typing).fill("Source name", "typed-before");
		expect(await buildOf(idle)).toBe("old");

		proxy.lead([ports.old, ports.new]);
		const missing: string[] = [];
		idle.context().on("response", (response) => {
			const isLater = response.url().includes(laterName);
			if (isLater && response.status() === 404) missing.push(response.url());
		});
		// Until one is of the later build, and the earlier one is asked for its files.
		const between = [await open("pipelines"), await open("pipelines")];
		while (missing.length === 0) between.push(await open("pipelines"));

		proxy.lead([ports.new]);
		proxy.cut(ports.old);
		for (const page of [idle, ...between])
			await page
				.locator(`head script[src*="${laterName}"]`)
				.waitFor({ ...soon, state: "attached" });
		await idle.getByText("No sources yet").waitFor();
		for (const page of between)
			await page.getByText("No pipelines yet").waitFor();

		await typing.getByText(/^Tidemill was upgraded/).waitFor(soon);
		expect(await buildOf(typing)).toBe("old");
		expect(await typing.getByLabel("Source name").inputValue()).toBe(
			"typed-before",
		);
		// Who asked for it is asked what becomes of the text.
		const asked = typing
			.waitForEvent("dialog")
			.then((dialog) => dialog.accept().then(() => dialog.type()));
		await withMouse(typing).press("Reload");
		expect(await asked).toBe("beforeunload");
		await typing
			.locator(`head script[src*="${laterName}"]`)
			.waitFor({ state: "attached" });
		expect(first.complaints).toEqual([]);
	});
});

const laterName = "-later";

async function buildOf(page: Page): Promise<"old" | "new"> {
	const script = page.locator(`head script[src*="${laterName}"]`);
	return (await script.count()) > 0 ? "new" : "old";
}

/** A copy of the console in which each file has another name, as files that have changed have. */
async function laterBuild(): Promise<string> {
	const directory = await temporaryDirectory("later-console");
	await cp(join(project, "console/dist"), directory, { recursive: true });
	const files = globSync("assets/*.{js,css}", { cwd: directory });
	const { build } = JSON.parse(
		readFileSync(join(directory, "build.json"), "utf8"),
	);
	for (const file of ["index.html", "build.json", ...files]) {
		const path = join(directory, file);
		const text = (await readFile(path, "utf8"))
			.replaceAll(build, `${build}${laterName}`)
			.replaceAll(/-[\w-]{8}(?=\.(?:js|css)\b)/g, `$&${laterName}`);
		await rm(`${path}.gz`, { force: true });
		await writeFile(path, text);
		if (files.includes(file))
			await rename(path, path.replace(/(?=\.\w+$)/, laterName));
	}
	return directory;
}

function environmentOf(pid: number): Record<string, string> {
	const pairs = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
	return Object.fromEntries(
		pairs
			.filter(Boolean)
			.map(
				(pair) => /^([^=]*)=(.*)$/s.exec(pair)!.slice(1) as [string, string],
			),
	);
}

/** Sends each request to the next server in turn. */
class TurnProxy {
	readonly #server: Server;
	readonly #open = new Map<Socket, number>();
	#targets: number[];
	#turn = 0;

	static async start(targets: number[]): Promise<TurnProxy> {
		const proxy = new TurnProxy(targets);
		await new Promise<void>((done) =>
			proxy.#server.listen(0, "127.0.0.1", done),
		);
		return proxy;
	}

	private constructor(targets: number[]) {
		this.#targets = targets;
		this.#server = createServer((request, answer) => {
			const port = this.#targets[this.#turn++ % this.#targets.length]!;
			const { method, url, headers } = request;
			const onward = send({
				...{ host: "127.0.0.1", port, agent: false },
				...{ method, path: url, headers },
			});
			onward.once("socket", (socket) => {
				this.#open.set(socket, port);
				socket.once("close", () => this.#open.delete(socket));
			});
			onward.once("response", (response) => {
				answer.writeHead(response.statusCode!, response.headers);
				response.pipe(answer);
				response.once("error", () => answer.destroy());
			});
			onward.once("error", () => answer.destroy());
			answer.once("close", () => onward.destroy());
			request.pipe(onward);
		});
	}

	get url(): string {
		const { port } = this.#server.address() as AddressInfo;
		return `http://127.0.0.1:${port}`;
	}

	lead(targets: number[]): void {
		this.#targets = targets;
	}

	/** As a replica that ends: what it had open breaks. */
	cut(port: number): void {
		for (const [socket, to] of this.#open) if (to === port) socket.destroy();
	}

	async close(): Promise<void> {
		this.#server.closeAllConnections();
		await new Promise((done) => this.#server.close(done));
	}
}
