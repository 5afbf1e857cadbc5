import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ChildRecord, hasEnded } from "./machine/child-records.ts";
import { LocalError, runCommand } from "./machine/errors.ts";
import { locateHome, readState } from "./machine/home.ts";
import { isRunning } from "./machine/identity.ts";
import { readOwner } from "./machine/lock.ts";
import type { LocalPorts } from "./machine/ports.ts";
import { publicURLOf, writePublicURL } from "./public-url.ts";
import { kubectlOf } from "./servers/resources.ts";

const timeoutMs = 120_000;
const home = locateHome();
const kubectl = kubectlOf(
	join(home.bin, "kubectl"),
	join(home.kube, "admin.yaml"),
);

/**
 * `make public-url`: gives the Sources of a running local Tidemill another public URL, and says which URLs providers must be told.
 * The operator starts again, since it reads the URL at its start.
 */
async function changePublicURL(text: string): Promise<number> {
	const url = publicURLOf(text, "URL");
	const supervisor = await readOwner(home.lock);
	if (supervisor === undefined || !isRunning(supervisor))
		throw new LocalError(
			`No Tidemill is running in ${home.directory}. Start it with the URL: TIDEMILL_PUBLIC_URL=${url ?? "https://…"} make up`,
		);
	const before = await webhookURLs();
	const operator = await untilOperator();
	// One that ends by itself at this moment starts half a second later, with the new URL.
	writePublicURL(home, url);
	if (isRunning(operator)) {
		process.kill(operator.pid, "SIGTERM");
		await hasEnded(operator, timeoutMs);
	}
	const { receive } = readState<LocalPorts>(home.ports)!;
	const base = url ?? `http://127.0.0.1:${receive}`;
	const after = await untilAll(base);
	console.log(`Webhook URLs begin with ${base} now.`);
	const stale = [...after].filter(
		([source, now]) => before.get(source) && before.get(source) !== now,
	);
	for (const [source, now] of stale)
		console.log(
			`${source}: the provider still has ${before.get(source)}. Give it ${now}`,
		);
	return 0;
}

function operatorRecord(): ChildRecord | undefined {
	return readState<ChildRecord[]>(home.children)?.find(
		(child) => child.name === "operator" && isRunning(child),
	);
}

/** One that is just being started isn't recorded yet, and has the former URL. */
async function untilOperator(): Promise<ChildRecord> {
	const deadline = Date.now() + timeoutMs;
	for (;;) {
		const operator = operatorRecord();
		if (operator) return operator;
		if (Date.now() > deadline)
			throw new LocalError(
				`No operator has been running for ${timeoutMs / 1000} s. Its log is ${join(home.logs, "operator.log")}.`,
			);
		await delay(200);
	}
}

/** By `namespace/name`. */
async function webhookURLs(): Promise<Map<string, string>> {
	const { items } = JSON.parse(
		await kubectl("get", "sources", "--all-namespaces", "--output=json"),
	) as {
		items: {
			metadata: { namespace: string; name: string };
			status?: { webhookURL?: string };
		}[];
	};
	return new Map(
		items.flatMap(({ metadata: { namespace, name }, status }) =>
			status?.webhookURL ? [[`${namespace}/${name}`, status.webhookURL]] : [],
		),
	);
}

/** Waits until every Source's URL begins so. */
async function untilAll(base: string): Promise<Map<string, string>> {
	const deadline = Date.now() + timeoutMs;
	for (;;) {
		const urls = await webhookURLs();
		const stale = [...urls].filter(([, url]) => !url.startsWith(`${base}/`));
		if (stale.length === 0 && operatorRecord()) return urls;
		if (Date.now() > deadline)
			throw new LocalError(
				`The operator hasn't changed the URL of ${stale.map(([source]) => source).join(", ")} within ${timeoutMs / 1000} s. Its log is ${join(home.logs, "operator.log")}.`,
			);
		await delay(200);
	}
}

await runCommand(() => changePublicURL(process.argv[2] ?? ""));
