import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
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
	inSystem,
	installChart,
	systemNamespace,
	thisVersion,
} from "./support/installation.ts";
import { prefix, startNginx } from "./support/nginx.ts";
import { serviceURL } from "./support/service.ts";
import { makeShop, namespace } from "./support/shop.ts";

/* The console as the chart installs it, behind nginx with a path prefix and TLS. People sign in at a provider that the apiserver knows. */

const { isOwn } = inject("cluster");
const isLeftOut = !isOwn || (noBrowser !== undefined && !process.env.CI);
const host = network.machine;
/** A token with all of them takes several cookies. */
const groups = [
	"engineers",
	...Array.from({ length: 80 }, () => `team-${randomUUID()}`),
];
const patience = { timeout: 120_000, interval: 500 };

describe.skipIf(isLeftOut)("the console on a real node", () => {
	let issuer: OidcIssuer;
	let url: string;
	let stopNginx: () => Promise<void>;
	let editor: Visitor;
	let viewer: Visitor;

	beforeAll(async () => {
		installPackages(
			{
				nginx: "nginx-light",
				...(process.env.CI && { "/usr/bin/chromium": "chromium" }),
			},
			console.error,
		);
		const port = await freePort();
		url = `https://${host}:${port}${prefix}/console`;
		issuer = await startOidcIssuer({
			host,
			redirectUri: `${url}/session/oidc/callback`,
			groupsOf: (login) => (login === "ada" ? groups : ["others"]),
		});
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
		await installWith(issuer);
		const api = await serviceURL("tidemill-api", systemNamespace);
		stopNginx = await startNginx({
			...{ host, port, api },
			certificate: issuer.certificate,
		});
		[editor, viewer] = (await Promise.all(
			["ada", "vera"].map((login) => signIn(url, login)),
		)) as [Visitor, Visitor];
	});

	afterAll(async () => {
		await Promise.all([editor?.close(), viewer?.close()]);
		await stopNginx?.();
		await issuer?.stop();
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
		const name = `console-${randomUUID().slice(0, 8)}`;
		const hands = withMouse(editor.page);
		await hands.press("New source");
		await hands.fill("Source name", name);
		await hands.press("Create");
		await expectPage(editor.page, name);
		await hands.press("Follow new events");
		await editor.page.getByText("New events show here as they come.").waitFor();

		const link = viewer.page.getByRole("link", { name, exact: true });
		await link.waitFor();
		expect(
			await viewer.page.getByRole("button", { name: "New source" }).count(),
		).toBe(0);
		await link.click();
		await expectPage(viewer.page, name);

		await send(name, { type: "order.paid", note: "seen through nginx" });
		const tail = editor.page.getByRole("region", { name: "Live" });
		await tail.getByText("seen through nginx").waitFor();
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
					.count(),
			).toBe(0);
		expect(viewer.page.url()).toContain(`${url}/sources/${name}`);
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
});

type Visitor = Pick<ConsoleSession, "page" | "complaints" | "close"> & {
	login: string;
};

/** In a browser that wanted to see the Sources. */
async function signIn(url: string, login: string): Promise<Visitor> {
	// The authority is one of the test's own.
	const visitor = await openPage({ ignoreHTTPSErrors: true });
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

/** By the values that docs/console.md names. */
async function installWith({
	url: issuer,
	ca,
	clientId,
	clientSecret,
}: OidcIssuer): Promise<void> {
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
	};
	const file = join(await temporaryDirectory("values"), "console.json");
	await writeFile(file, JSON.stringify(values));
	await installChart(thisVersion, `--values=${file}`);
	// The Secret of an earlier installation may be another provider's.
	await inSystem("rollout", "restart", "deployment/tidemill-api");
	await inSystem(
		"rollout",
		"status",
		"deployment/tidemill-api",
		"--timeout=120s",
	);
}

async function send(source: string, body: object): Promise<void> {
	const { status } = await get<{ status: { webhookURL: string } }>(
		...[`source/${source}`, `--namespace=${namespace}`],
	);
	const receive = await serviceURL("tidemill-receive", systemNamespace);
	const webhook = `${receive}${new URL(status.webhookURL).pathname}`;
	await untilKnown(webhook);
	const answer = await sendJSON(webhook, JSON.stringify(body));
	expect(answer.status).toBe(200);
}
