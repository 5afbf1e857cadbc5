// On a laptop nothing proves this: it starts a whole Tidemill twice.
import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Source, sourceKind } from "../../crds/generated/types.ts";
import { locateHome } from "../../local/machine/home.ts";
import { kinds, type Secret } from "../../packages/kube/kinds.ts";
import { documentedText } from "../support/examples/documented.ts";
import { type EventFlow, startFlow } from "../support/senders/event-flow.ts";
import {
	applyQuickstart,
	type Quickstart,
} from "../support/senders/quickstart.ts";
import {
	type LocalMode,
	openLocalMode,
	type StartedLocalMode,
	startLocalMode,
} from "../support/servers/local-mode.ts";

/*
 * Etcd is lost while events come in. A person follows docs/upgrade.md word for word, but for what installs the chart: local mode does
 * that at its start.
 */

let mode: StartedLocalMode;
let local: LocalMode;
let quickstart: Quickstart;
let flow: EventFlow;
/** Where the person works. */
let folder: string;
/** What the person keeps of Secrets elsewhere. */
let secrets: Secret[];

beforeAll(async () => {
	mode = await startLocalMode();
	local = await openLocalMode("default", mode.home);
	folder = join(mode.home, "person");
	await mkdir(folder);
	quickstart = await applyQuickstart(local);
	flow = startFlow(quickstart, { pauseMs: 100 });
});

afterAll(async () => {
	await flow?.stop();
	await mode?.stop();
});

test("etcd is lost: URLs go on, and after the restore each acknowledged event is a row", async () => {
	await flow.untilMore(30);
	await quickstart.runPipeline();
	await keep();
	await mode.restart(loseEtcd);
	// No resource is back yet.
	await flow.untilMore(30);
	expect(await check()).toBe(1);
	await restore();
	await expectAllRows();
});

/** While all of Tidemill is down. */
async function loseEtcd(): Promise<void> {
	const { etcd } = locateHome({ TIDEMILL_HOME: mode.home });
	await rm(etcd, { recursive: true });
}

/** Section "Back up". */
async function keep(): Promise<void> {
	await run(documentedText("docs/upgrade.md#back-up sh"));
	const { items } = await local.client.list(kinds.secret, {
		labelSelector: "tidemill.dev/issued-for",
	});
	secrets = items;
	expect(secrets).toHaveLength(1);
}

/** Section "Restore". */
async function restore(): Promise<void> {
	for (const { metadata, data, type } of secrets) {
		const { name, namespace, labels } = metadata;
		await local.client.create(kinds.secret, {
			...{ metadata: { name, namespace: namespace!, labels: labels! } },
			...{ type: type!, data: data! },
		});
	}
	await run(step(/`(kubectl apply [^`]*)`/));
	expect(await check()).toBe(0);
	await run(step(/^4\..*`(tidemill restore [^`]*)`/m));
	await local.run(
		...["kubectl", "wait", "--for=condition=Ready", "--timeout=120s"],
		...["--all", "sources,destinations,pipelines"],
	);
	const source = await local.client.get<Source>(sourceKind, "shop", "default");
	expect(source!.status!.webhookURL).toBe(quickstart.webhookURL);
}

async function check(): Promise<number> {
	const command = step(/`(tidemill restore --check [^`]*)`/);
	return Number((await run(`${command} >&2 && echo 0 || echo $?`)).trim());
}

const text = readFileSync(
	join(import.meta.dirname, "../../docs/upgrade.md"),
	"utf8",
);

function page(title: string): string {
	return text.split(`\n## ${title}\n`)[1]!.split("\n## ")[0]!;
}

/** A command of the section "Restore". */
function step(form: RegExp): string {
	return form.exec(page("Restore"))![1]!;
}

/** As a person types it. */
function run(command: string): Promise<string> {
	return local.run("sh", "-ec", `cd '${folder}'\n${command}`);
}

/** The rows of a Run that begins now have each event that was acknowledged before. */
async function expectAllRows(): Promise<void> {
	const answered = [...flow.sent.acknowledged.keys()];
	await quickstart.runPipeline();
	const rows = await quickstart.query<{ event_id: string }>(
		"select event_id from $table",
	);
	const loaded = new Set(rows.map(({ event_id }) => event_id));
	expect(answered.filter((id) => !loaded.has(id))).toEqual([]);
	await flow.stop();
	await quickstart.runPipeline();
	expect(await flow.brokenPromises()).toEqual([]);
}
