// On a laptop nothing proves this: a real node needs root, containerd and networks of its own.
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { Agent } from "node:https";
import { join } from "node:path";
import {
	afterAll,
	beforeAll,
	describe,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import { installPackages } from "../../local/binaries/debian-packages.ts";
import { resolveBinaries } from "../../local/binaries/resolve.ts";
import { freePort } from "../../local/machine/ports.ts";
import {
	type ConsoleSession,
	expectPage,
	noBrowser,
	openPage,
} from "../console/browser.ts";
import { withMouse } from "../console/hands.ts";
import {
	type OidcIssuer,
	startOidcIssuer,
} from "../support/doubles/oidc-issuer.ts";
import { sendJSON, untilKnown } from "../support/senders/http-client.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";
import { network } from "./cluster/addresses.ts";
import { authenticationConfig } from "./cluster/authentication.ts";
import { locateNodeHome } from "./cluster/node-home.ts";
import { apply, get, kubectl, kubectlWith } from "./support/cluster.ts";
import {
	applyCertificates,
	documentedIngress,
	senderTo,
	startIngressController,
} from "./support/ingress.ts";
import {
	inSystem,
	installChart,
	systemNamespace,
	thisVersion,
} from "./support/installation.ts";
import { prefix, startNginx } from "./support/nginx.ts";
import { serviceURL } from "./support/service.ts";
import { makeShop, namespace } from "./support/shop.ts";

/*
 * The console as the chart installs it, behind a path prefix and TLS: of nginx, and of an ingress controller that routes by the
 * chart's Ingresses. People sign in at a provider that the apiserver knows.
 */

const { isOwn } = inject("cluster");
const isLeftOut = !isOwn || (noBrowser !== undefined && !process.env.CI);
const host = network.machine;
/** A token with all of them takes several cookies. */
const groups = [
	"engineers",
	...Array.from({ length: 80 }, () => `team-${randomUUID()}`),
];
const patience = { timeout: 120_000, interval: 500 };
const hooks = "hooks.example.com";

/** One way to the console and to receive. */
interface Door {
	/** Of the console, without a slash at the end. */
	url: string;
	/** Where the browser finds the URL's host. */
	addresses: Record<string, string>;
	/** Who sends webhooks, and to which address instead of that of the Source's URL. */
	sender: { agent?: Agent; origin?: string };
}

describe.skipIf(isLeftOut)("the console on a real node", () => {
	let issuer: OidcIssuer;
	const doors = {} as Record<"nginx" | "an ingress controller", Door>;
	const stops: (() => Promise<void>)[] = [];

	// On a machine that builds it for the first time, it takes minutes.
	beforeAll(async () => {
		await resolveBinaries(["skipper"]);
	});

	beforeAll(async () => {
		installPackages(
			{
				nginx: "nginx-light",
				...(process.env.CI && { "/usr/bin/chromium": "chromium" }),
			},
			console.error,
		);
		const port = await freePort();
		const ingress = documentedIngress();
		const ofNginx = `https://${host}:${port}${prefix}/console`;
		const ofIngress = `https://${ingress.host}${ingress.path}/console`;
		issuer = await startOidcIssuer({
			host,
			redirectUris: [ofNginx, ofIngress].map(
				(url) => `${url}/session/oidc/callback`,
			),
			groupsOf: (login) => (login === "ada" ? groups : ["others"]),
		});
		stops.push(issuer.stop);
		await takeTokensOf(issuer);
		await makeShop();
		for (const [role, who] of [
			["editor", "Group"],
			["viewer", "User"],
		] as const)
			await apply({
				apiVersion: "rbac.authorization.k8s.io/v1",
				kind: "RoleBinding",
				metadata: { name: `console-${role}`, namespace },
				roleRef: {
					apiGroup: "rbac.authorization.k8s.io",
					kind: "ClusterRole",
					name: `tidemill-${role}`,
				},
				subjects: [
					{
						apiGroup: "rbac.authorization.k8s.io",
						kind: who,
						name: role === "editor" ? "oidc:engineers" : "oidc:vera",
					},
				],
			});
		await installWith(issuer, ingress.values);
		const [api, receive] = await Promise.all(
			["api", "receive"].map((part) =>
				serviceURL(`tidemill-${part}`, systemNamespace),
			),
		);
		stops.push(
			await startNginx({
				...{ host, port, api: api! },
				certificate: issuer.certificate,
			}),
		);
		doors.nginx = {
			url: ofNginx,
			addresses: {},
			sender: { origin: receive! },
		};
		const authority = await applyCertificates([ingress.host, hooks]);
		const controller = await startIngressController();
		stops.push(controller.stop);
		const { address } = controller;
		doors["an ingress controller"] = {
			url: ofIngress,
			addresses: { [ingress.host]: address },
			sender: { agent: senderTo(address, authority) },
		};
	});

	afterAll(async () => {
		for (const stop of stops.toReversed()) await stop();
	});

	describe.each(["nginx", "an ingress controller"] as const)(
		"behind %s",
		(name) => {
			let url: string;
			let editor: Visitor;
			let viewer: Visitor;

			beforeAll(async () => {
				url = doors[name].url;
				[editor, viewer] = (await Promise.all(
					["ada", "vera"].map((login) => signIn(doors[name], login)),
				)) as [Visitor, Visitor];
			});

			afterAll(async () => {
				await Promise.all([editor?.close(), viewer?.close()]);
			});

			test("who signs in at the provider comes to the page that they wanted", async () => {
				for (const { page, login } of [editor, viewer]) {
					expect(page.url()).toBe(`${url}/sources?namespace=${namespace}`);
					await expectPage(page, "Sources");
					await page.getByText(`oidc:${login}`).first().waitFor();
				}
				const cookies = await editor.page.context().cookies();
				expect(
					cookies.filter(({ name }) => name.startsWith("__Host-")).length,
				).toBeGreaterThan(1);
				for (const cookie of cookies.filter(({ name }) =>
					name.startsWith("__Host-"),
				))
					expect(cookie).toMatchObject({ httpOnly: true, secure: true });
			});

			test("an editor makes a Source and sees an event come; a viewer sees both, and is offered nothing else", async () => {
				const source = `console-${randomUUID().slice(0, 8)}`;
				const hands = withMouse(editor.page);
				await hands.follow("New source");
				await hands.fill("Source name", source);
				await hands.press("Create");
				await expectPage(editor.page, source);
				await hands.press("Follow new events");
				// The stream says so, and hasn't ended: nothing before the API holds it back.
				await editor.page
					.getByText("New events show here as they come.")
					.waitFor();

				const link = viewer.page.getByRole("link", {
					name: source,
					exact: true,
				});
				await link.waitFor();
				expect(
					await viewer.page.getByRole("link", { name: "New source" }).count(),
				).toBe(0);
				await link.click();
				await expectPage(viewer.page, source);

				const note = `seen behind ${name}`;
				await send(doors[name], source, { type: "order.paid", note });
				const tail = editor.page.getByRole("region", { name: "Live" });
				await tail.getByText(note).waitFor();
				await viewer.page.getByText("The first event has arrived.").waitFor();
				for (const action of [
					"Edit",
					"Delete",
					"Send test event",
					"New URL",
					"Suspend",
				])
					expect(
						await viewer.page
							.getByRole("button", { name: action, exact: true })
							.or(viewer.page.getByRole("link", { name: action, exact: true }))
							.count(),
					).toBe(0);
				expect(viewer.page.url()).toContain(`${url}/sources/${source}`);
			});

			test("another namespace stays closed, and who signs out is out", async () => {
				for (const { page, complaints } of [editor, viewer]) {
					await page.goto(`${url}/sources?namespace=${systemNamespace}`);
					await expectPage(page, "No access");
					await page.locator(".visitor summary").click();
					await withMouse(page).press("Sign out");
					await expectPage(page, "Sign in");
					expect(complaints).toEqual([]);
				}
			});
		},
	);
});

type Visitor = Pick<ConsoleSession, "page" | "complaints" | "close"> & {
	login: string;
};

/** In a browser that wanted to see the Sources. */
async function signIn(
	{ url, addresses }: Door,
	login: string,
): Promise<Visitor> {
	// The authority is one of the test's own.
	const visitor = await openPage({ ignoreHTTPSErrors: true }, addresses);
	const { page } = visitor;
	await page.goto(`${url}/sources?namespace=${namespace}`);
	await withMouse(page).follow("Sign in with your organization");
	await page.locator("input[name=login]").fill(login);
	await page.locator("input[name=password]").fill("-");
	await page.locator("button[type=submit]").click();
	await page.getByRole("button", { name: "Continue" }).click();
	await page.getByRole("navigation", { name: "Main" }).waitFor();
	return { ...visitor, login };
}

/** The apiserver reads the file again, in its own time. */
async function takeTokensOf(issuer: OidcIssuer): Promise<void> {
	const { url, ca, clientId: audience } = issuer;
	writeFileSync(
		join(locateNodeHome().config, "authentication.json"),
		authenticationConfig([{ url, ca, audience }]),
	);
	const review = JSON.stringify({
		apiVersion: "authentication.k8s.io/v1",
		kind: "TokenReview",
		spec: { token: await issuer.token() },
	});
	await vi.waitFor(
		async () =>
			expect(
				await kubectlWith(
					review,
					...["create", "--filename=-", "--output=jsonpath={.status.user}"],
				),
			).toContain("oidc:ada"),
		patience,
	);
}

/** By the values that docs/console.md and docs/install.md name. */
async function installWith(
	{ url: issuer, ca, clientId, clientSecret }: OidcIssuer,
	ofIngress: object,
): Promise<void> {
	const authority = "provider-authority";
	await kubectl("create", "namespace", systemNamespace).catch(() => undefined);
	await apply(
		{
			apiVersion: "v1",
			kind: "ConfigMap",
			metadata: { name: authority, namespace: systemNamespace },
			data: { "ca.crt": ca },
		},
		{
			apiVersion: "v1",
			kind: "Secret",
			metadata: { name: "console-client", namespace: systemNamespace },
			stringData: { "client-secret": clientSecret },
		},
	);
	const values = {
		api: {
			// What comes from this machine has the node's own address.
			trustedProxies: [`${network.machine}/32`, network.pods],
			console: {
				hosts: [host],
				oidc: {
					...{ issuer, clientId, scopes: "openid" },
					existingSecret: "console-client",
				},
			},
			extraVolumes: [{ name: authority, configMap: { name: authority } }],
			extraVolumeMounts: [{ name: authority, mountPath: "/etc/provider" }],
			env: { NODE_EXTRA_CA_CERTS: "/etc/provider/ca.crt" },
		},
		receive: {
			url: `https://${hooks}`,
			trustedProxies: [network.pods],
			ingress: { enabled: true, className: "skipper" },
		},
	};
	const directory = await temporaryDirectory("values");
	const files = await Promise.all(
		Object.entries({ ofIngress, values }).map(async ([name, content]) => {
			const file = join(directory, `${name}.json`);
			await writeFile(file, JSON.stringify(content));
			return `--values=${file}`;
		}),
	);
	await installChart(thisVersion, ...files);
	// The Secret of an earlier installation may be another provider's.
	await inSystem("rollout", "restart", "deployment/tidemill-api");
	await inSystem(
		"rollout",
		"status",
		"deployment/tidemill-api",
		"--timeout=120s",
	);
}

async function send(
	{ sender: { agent, origin } }: Door,
	source: string,
	body: object,
): Promise<void> {
	const { status } = await get<{ status: { webhookURL: string } }>(
		...[`source/${source}`, `--namespace=${namespace}`],
	);
	const { href, pathname } = new URL(status.webhookURL);
	expect(href).toBe(`https://${hooks}${pathname}`);
	const webhook = origin === undefined ? href : `${origin}${pathname}`;
	await untilKnown(webhook, agent);
	const answer = await sendJSON(webhook, JSON.stringify(body), {
		...(agent && { agent }),
	});
	expect(answer.status).toBe(200);
}
