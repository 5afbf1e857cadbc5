import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Source } from "../../crds/generated/types.ts";
import {
	type ConsoleExample,
	consoleExamples,
	isShown,
} from "../support/examples/console-examples.ts";
import { send } from "../support/senders/http-client.ts";
import { applyQuickstart } from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
} from "../support/servers/local-mode.ts";

const soon = { timeout: 120_000, interval: 100 };

const examplesOf = (page: string) =>
	consoleExamples(
		readFileSync(join(import.meta.dirname, "../../docs", page), "utf8"),
	);

test("the commands of the pages on tracking plans and Operations print what the pages show", async () => {
	const local = await openLocalMode("plans");
	await applyQuickstart(local);
	const examples = [
		...examplesOf("tracking-plans.md"),
		...examplesOf("operations.md"),
	];
	expect(examples.length).toBeGreaterThan(15);
	const isCurrent = examples.findIndex(({ command }) =>
		command.includes("PlanCurrent"),
	);
	await printsAsShown(local, examples.slice(0, isCurrent + 1));
	await untilJudged(local);
	await printsAsShown(local, examples.slice(isCurrent + 1));
});

/** In one shell, as a person has; what each command prints ends with a NUL. */
async function printsAsShown(local: LocalMode, examples: ConsoleExample[]) {
	// The pages are about the namespace that local mode has at its start.
	const script = examples.map(
		({ command }) =>
			`${untilSaid(command).replace(/^tidemill sql/, `$& --namespace=${local.namespace}`)}\nprintf '\\0'`,
	);
	const said = await local.run("bash", "-euc", script.join("\n"));
	const printed = said.split("\0");
	examples.forEach(({ command, shown }, index) => {
		const text = printed[index]!;
		if (!isShown(text, shown)) expect(text, command).toBe(shown);
	});
}

/**
 * Until receive has what the operator published: milliseconds, and sooner than a person types. Receive takes routes in their
 * order, so it has the shop's plan once it judges for a Source that came later.
 */
async function untilJudged(local: LocalMode): Promise<void> {
	const later =
		"{ apiVersion: tidemill.dev/v1alpha1, kind: Source, metadata: { name: later }, spec: { type: Webhook, webhook: { trackingPlanRef: { name: orders } } } }";
	const apply = 'printf "%s" "$0" | kubectl apply -f -';
	await local.run("sh", "-c", apply, later);
	await vi.waitFor(async () => {
		const { status } = await local.resource<Source>("get", "source/later");
		const url = status?.webhookURL ?? "";
		expect(url).not.toBe("");
		expect(await send(url, { body: "{}" })).toMatchObject({ status: 200 });
	}, soon);
}

/** The same, once the counts are there: archive tells the operator a moment after it has stored the events. */
function untilSaid(command: string): string {
	if (!command.startsWith("tidemill quarantine list")) return command;
	return `for _ in $(seq 200); do ${command} | grep -q order.lost && break; done\n${command}`;
}
