import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import {
	apiURL,
	type ConsoleSession,
	tokenOf,
} from "../../../test/console/browser.ts";
import { send } from "../../../test/console/shop.ts";
import type { LocalMode } from "../../../test/support/servers/local-mode.ts";
import { figure, type Measurement, type Say } from "../measure/measurement.ts";

const tabs = 200;
/** Of one namespace, so that all of them count as one account. */
const visitors = [
	["tidemill-viewer"],
	["tidemill-editor"],
	["tidemill-runner"],
	["tidemill-viewer", "tidemill-runner"],
] as const;
/** All of them may see these. */
const kinds = ["pipelines", "runs"];
const minuteMs = 60_000;

/**
 * 200 tabs of visitors who have signed in, each in a browser of its own: what they cost the apiserver, and whether the API refuses
 * one. A second part counts the requests of a real tab while events come in.
 */
export async function manyTabs(
	visitor: ConsoleSession,
	say: Say,
): Promise<Measurement[]> {
	const { local } = visitor;
	const url = new URL(await apiURL(local));
	const cookies = await Promise.all(
		visitors.map(async (roles) => signIn(url, await tokenOf(local, roles))),
	);
	const before = await watchesOf(local);
	const quiet = await reviewsInAMinute(local);
	const opened = await Promise.all(
		Array.from({ length: tabs }, (_, tab) =>
			openTab(url, cookies[tab % cookies.length]!),
		),
	);
	const refused = opened.filter(({ status }) => status !== 200);
	say(`${tabs} streams are open; ${refused.length} were refused`);
	const after = await watchesOf(local);
	const more = kinds.map((kind) => after.get(kind)! - before.get(kind)!);
	say(`watches more: ${kinds.map((kind, at) => `${kind} ${more[at]}`)}`);
	const busy = await reviewsInAMinute(local);
	const again = await Promise.all(
		Array.from({ length: tabs }, async (_, tab) =>
			statusOf(url, cookies[tab % cookies.length]!),
		),
	);
	const limited = again.filter((status) => status !== 200);
	say(`of ${tabs} sessions asked for at once, ${limited.length} were refused`);
	for (const { answer } of opened) answer.destroy();
	const requests = await requestsOfTab(visitor, say);
	return [
		figure(
			`streams and sessions of ${tabs} tabs that are refused`,
			refused.length + limited.length,
			"requests",
			{ atMost: 0 },
		),
		figure(
			`watches at the apiserver that ${tabs} tabs add, of each kind`,
			more,
			"watches",
			{ atMost: 1 },
		),
		figure(
			"questions to the apiserver about the rights of one tab",
			(busy - quiet) / tabs,
			"a minute",
			{ atMost: 10 },
		),
		figure(
			"requests of a tab on a Source that gets an event a second",
			requests,
			"a minute",
			{ atMost: 10 },
		),
	];
}

/** Counts the requests of the page in a minute after it has opened. */
async function requestsOfTab(
	visitor: ConsoleSession,
	say: Say,
): Promise<number> {
	const { page, open } = visitor;
	await open("sources/shop");
	await page.getByRole("button", { name: "Follow new events" }).click();
	await page.getByText("New events show here as they come.").waitFor();
	const asked = new Map<string, number>();
	const count = (sent: { url(): string }) => {
		const { pathname } = new URL(sent.url());
		asked.set(pathname, (asked.get(pathname) ?? 0) + 1);
	};
	page.on("request", count);
	const endMs = Date.now() + minuteMs;
	while (Date.now() < endMs) {
		await send(visitor, { at: Date.now() });
		await delay(1_000);
	}
	page.off("request", count);
	say(`a tab asked in a minute: ${JSON.stringify(Object.fromEntries(asked))}`);
	return [...asked.values()].reduce((sum, one) => sum + one, 0);
}

/** As the console's page sends it, which no other program can in a browser. */
function ask(
	url: URL,
	method: string,
	path: string,
	headers: Record<string, string>,
	body?: object,
): Promise<IncomingMessage> {
	return new Promise((resolve, reject) => {
		const asking = request(new URL(path, url), {
			method,
			agent: false,
			headers: {
				...headers,
				"content-type": "application/json",
				"tidemill-console": "1",
				"sec-fetch-site": "same-origin",
				origin: url.origin,
			},
		});
		asking.on("response", resolve);
		asking.on("error", reject);
		asking.end(body && JSON.stringify(body));
	});
}

async function signIn(url: URL, token: string): Promise<string> {
	const answer = await ask(url, "POST", "/console/session", {}, { token });
	if (answer.statusCode !== 200) throw new Error(await text(answer));
	answer.resume();
	return answer.headers["set-cookie"]!.map((one) => one.split(";")[0])
		.filter((one) => !one!.endsWith("="))
		.join("; ");
}

async function openTab(url: URL, cookie: string) {
	const path = `/v1/changes?kinds=${kinds}`;
	const answer = await ask(url, "GET", path, { cookie });
	answer.resume();
	return { status: answer.statusCode, answer };
}

async function statusOf(url: URL, cookie: string): Promise<number> {
	const answer = await ask(url, "GET", "/console/session", { cookie });
	answer.resume();
	return answer.statusCode!;
}

/** By kind, of all namespaces. */
async function watchesOf(local: LocalMode): Promise<Map<string, number>> {
	const lines = await metricsOf(local, "apiserver_longrunning_requests");
	const open = lines.filter(({ labels }) => /verb="WATCH"/.test(labels));
	return new Map(
		kinds.map((kind) => [
			kind,
			open
				.filter(({ labels }) => labels.includes(`resource="${kind}"`))
				.reduce((sum, { value }) => sum + value, 0),
		]),
	);
}

async function reviewsInAMinute(local: LocalMode): Promise<number> {
	const count = async () =>
		(await metricsOf(local, "apiserver_request_total"))
			.filter(({ labels }) => /resource="selfsubject\w+"/.test(labels))
			.reduce((sum, { value }) => sum + value, 0);
	const before = await count();
	await delay(minuteMs);
	return (await count()) - before;
}

async function metricsOf(local: LocalMode, name: string) {
	const all = await local.run("kubectl", "get", "--raw", "/metrics");
	return all
		.split("\n")
		.filter((line) => line.startsWith(`${name}{`))
		.map((line) => {
			const [labels = "", value] = line.slice(name.length).split(/ (?=\S+$)/);
			return { labels, value: Number(value) };
		});
}
