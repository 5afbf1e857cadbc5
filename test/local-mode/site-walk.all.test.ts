// In make test: test/promises/you-are-told.laptop.test.ts
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { walk } from "../../docs/.vitepress/sidebar.ts";
import { freePort } from "../../local/machine/ports.ts";
import {
	type ConsoleExample,
	examplesIn,
	isShown,
} from "../support/examples/console-examples.ts";
import { documented } from "../support/examples/documented.ts";
import { openLocalMode } from "../support/servers/local-mode.ts";
import { hasPostgres } from "./setup.ts";

/** What a page shows of these is what a terminal has, errors too; the others show standard output. */
const terminals = ["postgres", "cli"];

const onPostgres = ["postgres", "stripe-into-postgres"];
const hasPsql = spawnSync("psql", ["--version"]).status === 0;

/**
 * test/site.all.test.ts follows the "next" links in the site that is built, and compares what the copy button gives with the commands
 * of these pages.
 */
const blocks = documented("docs/*.md console");
const pages = walk
	.filter((page) => !onPostgres.includes(page) || hasPostgres)
	.map((page) => ({
		page,
		examples: blocks
			.filter((block) => block.page === `docs/${page}.md`)
			.flatMap(({ text }) => examplesIn(text))
			.filter(({ command }) => hasPsql || !command.startsWith("psql ")),
	}))
	.filter(({ examples }) => examples.length > 0);

test('each page prints what it shows, one after the other along the "next" links, in one shell', async () => {
	const elsewhere = blocks.filter(
		({ page }) => !walk.some((name) => page === `docs/${name}.md`),
	);
	expect(elsewhere).toEqual([]);
	// Where a person begins, and no other test does.
	const local = await openLocalMode("default");
	const port = await freePort();
	const script = pages.flatMap(({ page, examples }) =>
		scriptOf(page, examples, port),
	);
	let failure: (Error & { stdout: string }) | undefined;
	const said = await local
		.run("bash", "-euc", script.join("\n"))
		.catch((error) => {
			failure = error;
			return error.stdout as string;
		});
	const printed = said.split("\0");
	const misfits = pages.flatMap(({ page, examples }) =>
		examples.flatMap(({ command, shown }) => {
			const text = printed.shift() ?? "";
			return isShown(text, shown) ? [] : [{ page, command, text, shown }];
		}),
	);
	// What it said to standard error is at the message's end.
	expect(misfits, failure?.message.slice(-2_000)).toEqual([]);
	if (failure) throw failure;
});

/**
 * What each command prints ends with a NUL.
 * @param port on which the reader's own handler listens, in place of 3000.
 */
function scriptOf(
	page: string,
	examples: ConsoleExample[],
	port: number,
): string[] {
	const here = (command: string) =>
		command
			.replaceAll(".tidemill/", '"$TIDEMILL_HOME"/')
			.replaceAll(/(localhost:|listen\()3000\b/g, `$1${port}`);
	const lines = examples.map(
		({ command }) => `${inTime(here(command), port)}\nprintf '\\0'`,
	);
	return terminals.includes(page)
		? ["exec 3>&2 2>&1", ...lines, "exec 2>&3"]
		: lines;
}

/** The same, as late as a person types it: what the page shows comes a moment after the command before it. */
function inTime(command: string, port: number): string {
	if (command.includes("listen("))
		return `${command}\nuntil curl -sS localhost:${port} >&2; do sleep 0.1; done`;
	if (/^kubectl get .*pipelines/.test(command)) {
		const said = "jsonpath='{.status.lastRun.phase}'=Succeeded";
		return `kubectl wait pipelines --all --for=${said} --timeout=120s >&2\n${command}`;
	}
	if (command.startsWith("tidemill quarantine list"))
		return `for _ in $(seq 200); do ${command} | grep -q order.lost && break; done\n${command}`;
	if (command.includes("PlanCurrent")) return `${command}\n${untilValidated}`;
	return command;
}

/** Receive takes routes in their order, so it has the shop's plan once it validates the events of a Source that came later. */
const untilValidated = `
kubectl create -f - >&2 <<'SOURCE'
{ apiVersion: tidemill.dev/v1alpha1, kind: Source, metadata: { name: later }, spec: { type: Webhook, webhook: { trackingPlanRef: { name: orders } } } }
SOURCE
kubectl wait --for=jsonpath='{.status.webhookURL}' source/later --timeout=120s >&2
until curl -sSf "$(kubectl get source later -o jsonpath={.status.webhookURL})" -d '{}' >&2; do sleep 0.1; done
kubectl delete source later >&2`;
