// In make test: test/console/every-page.laptop.test.ts
import { randomBytes } from "node:crypto";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loopbackNames } from "../../api/console/own-page.ts";
import { loadCluster } from "../../packages/kube/client/cluster.ts";
import { SealKey } from "../../packages/service/seal-key.ts";
import {
	type OidcIssuer,
	startOidcIssuer,
} from "../support/doubles/oidc-issuer.ts";
import {
	startApi,
	type TestApi,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { EndedHere } from "../support/fixtures/control-plane/without-nats.ts";
import {
	startControlPlane,
	type TestControlPlane,
} from "../support/servers/control-plane.ts";
import { expectPage, noBrowser, openPage } from "./browser.ts";
import { withMouse } from "./hands.ts";

/* People sign in at a provider whose ID tokens the apiserver takes, in a browser, and below a path that a proxy takes off. */

const prefix = "/data/tidemill";

describe.skipIf(noBrowser)(
	"the console behind a proxy with a path prefix",
	() => {
		let proxy: Awaited<ReturnType<typeof startProxy>>;
		let issuer: OidcIssuer;
		let controlPlane: TestControlPlane;
		let api: TestApi;

		beforeAll(async () => {
			proxy = await startProxy();
			issuer = await startOidcIssuer({
				redirectUris: [`${proxy.url}/console/session/oidc/callback`],
				groupsOf: (login) => [login === "ada" ? "engineers" : "others"],
			});
			setDefaultCACertificates([...getCACertificates("default"), issuer.ca]);
			controlPlane = await startControlPlane(issuer);
			const { kubectl, kubeconfig } = controlPlane;
			const project = join(import.meta.dirname, "../..");
			await kubectl(
				...[
					"apply",
					`--filename=${project}/charts/tidemill/files/rbac/roles.yaml`,
				],
			);
			await kubectl("create", "namespace", "shop");
			for (const [role, who] of [
				["editor", "--group=oidc:engineers"],
				["viewer", "--user=oidc:vera"],
			] as const)
				await kubectl(
					...["create", "rolebinding", role, "--namespace=shop"],
					...[`--clusterrole=tidemill-${role}`, who],
				);
			await kubectl(
				...["create", "clusterrole", "namespaces"],
				...["--verb=list", "--resource=namespaces"],
			);
			await kubectl(
				...["create", "clusterrolebinding", "namespaces"],
				...["--clusterrole=namespaces", "--group=oidc:engineers"],
			);
			api = await startApi(loadCluster(kubeconfig), {
				isProxy: (address) => address === "127.0.0.1",
				console: {
					directory: join(project, "console/dist"),
					keys: new SealKey(randomBytes(32)),
					hosts: new Set(loopbackNames),
					ended: new EndedHere(),
					oidc: {
						issuer: issuer.url,
						clientId: issuer.clientId,
						clientSecret: () => issuer.clientSecret,
						scopes: "openid",
					},
					version: "1.2.3",
				},
			});
			proxy.leadTo(api.url);
		});

		afterAll(async () => {
			proxy?.stop();
			api?.stop.abort();
			await api?.api.close();
			await controlPlane?.stop();
			await issuer?.stop();
		});

		test.each([
			["ada", "an editor"],
			["vera", "a viewer"],
		])("%s signs in at the provider, and works as %s", async (login, role) => {
			// The issuer's authority is one of the test's own.
			const { page, complaints, close } = await openPage({
				ignoreHTTPSErrors: true,
			});
			try {
				const hands = withMouse(page);
				await page.goto(`${proxy.url}/console/sources?namespace=shop`);
				await expectPage(page, "Sign in");
				await hands.follow("Sign in with your organization");
				await signInAt(page, login);
				expect(page.url()).toContain(`${proxy.url}/console/`);
				await page.goto(`${proxy.url}/console/sources?namespace=shop`);
				await expectPage(page, "Sources");
				await page.getByText(`oidc:${login}`).first().waitFor();
				if (role === "an editor") {
					await hands.follow("New source");
					await hands.fill("Source name", "orders");
					await page.context().clearCookies();
					await page.evaluate(seenAgain);
					await page.getByText(/^Your session has ended\./).waitFor();
					await page.getByText(/^It opens in another tab\./).waitFor();
					const opening = page.context().waitForEvent("page");
					await hands.follow("Sign in with your organization");
					const other = await opening;
					await signInAt(other, login);
					await other.close();
					await page.evaluate(seenAgain);
					const kept = page.getByLabel("Source name", { exact: true });
					expect(await kept.inputValue()).toBe("orders");
					await hands.press("Create");
					await expectPage(page, "orders");
					expect(page.url()).toContain(`${proxy.url}/console/sources/orders`);
				} else {
					await page.getByRole("link", { name: "orders", exact: true }).click();
					await expectPage(page, "orders");
					for (const name of ["Edit", "Delete", "Send test event"])
						expect(
							await page.getByRole("button", { name, exact: true }).count(),
						).toBe(0);
				}
				// Who may not list namespaces can't know which there are.
				await page.goto(`${proxy.url}/console/runs?namespace=nowhere`);
				if (role === "an editor") {
					await expectPage(page, "Page not found");
					await page.getByText("There is no namespace “nowhere”.").waitFor();
					await page.getByLabel("Namespace").selectOption("shop");
					await expectPage(page, "Runs");
				} else await expectPage(page, "No access");
				await page.locator(".visitor summary").click();
				await hands.press("Sign out");
				await expectPage(page, "Sign in");
				expect(complaints).toEqual([]);
			} finally {
				await close();
			}
		});
	},
);

/** In the page: as when the visitor comes back to the tab. */
const seenAgain = `document.dispatchEvent(new Event("visibilitychange")); 0`;

/** On the provider's page, until the console is there. */
async function signInAt(page: Page, login: string): Promise<void> {
	await page.locator("input[name=login]").fill(login);
	await page.locator("input[name=password]").fill("-");
	await page.locator("button[type=submit]").click();
	await page.getByRole("button", { name: "Continue" }).click();
	await page.getByRole("navigation", { name: "Main" }).waitFor();
}

/** Takes the prefix off and says so, as `docs/console.md` asks of a proxy. It answers 404 to what lies outside the prefix. */
async function startProxy() {
	let target = "";
	const server: Server = createServer((incoming, reply) => {
		const { method, url = "", headers } = incoming;
		if (!url.startsWith(`${prefix}/`)) {
			reply.writeHead(404).end();
			return;
		}
		const onward = request(
			target + url.slice(prefix.length),
			{
				method,
				headers: {
					...headers,
					"x-forwarded-host": headers.host,
					"x-forwarded-prefix": prefix,
					"x-forwarded-proto": "http",
				},
			},
			(answer) => {
				reply.writeHead(answer.statusCode!, answer.headers);
				answer.pipe(reply);
			},
		);
		reply.on("close", () => onward.destroy());
		onward.on("error", () => reply.destroy());
		incoming.pipe(onward);
	});
	await new Promise<void>((resolve) =>
		server.listen(0, "127.0.0.1", () => resolve()),
	);
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}${prefix}`,
		leadTo: (url: string) => {
			target = url;
		},
		stop: () => {
			server.close();
			server.closeAllConnections();
		},
	};
}
