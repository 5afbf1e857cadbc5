import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { relative } from "node:path";
import { shellWord } from "../packages/escapes/shell.ts";
import { stopSignal } from "../packages/service/start-order.ts";
import { localServers } from "./binaries/pinned.ts";
import { resolveBinaries } from "./binaries/resolve.ts";
import { buildConsole } from "./console-build.ts";
import { ChildRecords, stopOrphans } from "./machine/child-records.ts";
import { problem, runCommand } from "./machine/errors.ts";
import { checkSpace, type LocalHome, locateHome } from "./machine/home.ts";
import { portableStart } from "./machine/identity.ts";
import { tryLock } from "./machine/lock.ts";
import { Supervisor } from "./machine/supervisor.ts";
import { createTerminal, type Terminal } from "./machine/terminal.ts";
import {
	changeNotice,
	publicURLOf,
	readPublicURL,
	writePublicURL,
} from "./public-url.ts";
import {
	chosenWarehouses,
	type WarehouseServer,
} from "./servers/warehouses.ts";
import { prepareStack, type StartedStack } from "./stack.ts";

/**
 * `make up`: runs all of Tidemill on this machine in the foreground, until Ctrl-C, SIGTERM or `make down`.
 * Returns the exit code.
 */
async function up(home: LocalHome, terminal: Terminal): Promise<number> {
	const stop = stopSignal();
	// Closing the terminal stops Tidemill.
	process.on("SIGHUP", () => process.kill(process.pid, "SIGTERM"));
	await mkdir(home.directory, { recursive: true, mode: 0o700 });
	await checkSpace(home.directory);
	const publicURL = publicURLOf(
		process.env.TIDEMILL_PUBLIC_URL,
		"TIDEMILL_PUBLIC_URL",
	);
	// By it local/down.sh knows this process again.
	const psStart = portableStart(process.pid);
	const lock = await tryLock(home.lock, { psStart });
	if ("owner" in lock)
		throw problem.alreadyRunning(home.directory, lock.owner.pid);
	const change = changeNotice(readPublicURL(home), publicURL);
	writePublicURL(home, publicURL);
	const records = new ChildRecords(home.children);
	const supervisor = new Supervisor(home, records, terminal);
	const notices: string[] = [];
	let started: StartedStack | undefined;
	try {
		await removeOrphans(records, terminal);
		started = await untilAborted(
			stop,
			startAll(home, supervisor, terminal, stop, notices),
		);
		if (started) {
			terminal.settle();
			terminal.say(welcome(home, started, publicURL));
			if (change) notices.push(change);
			for (const text of notices) terminal.say(text);
			buildConsole(home, terminal, stop);
			await untilAborted(stop, new Promise(() => {}));
		}
		return 0;
	} finally {
		terminal.say("");
		await supervisor.stop();
		await lock.release();
		terminal.settle();
		if (started || stop.aborted)
			terminal.say(
				`Tidemill has stopped. Its data is in ${shellWord(home.directory)}.`,
			);
	}
}

async function startAll(
	home: LocalHome,
	supervisor: Supervisor,
	terminal: Terminal,
	signal: AbortSignal,
	notices: string[],
): Promise<StartedStack> {
	const commands = await resolveBinaries([...localServers], {
		signal,
		olderPatches: true,
		report: (text) => terminal.update("servers", text),
		say: (text) => terminal.say(text),
		warn: (text) => notices.push(text),
	});
	terminal.done("servers", "found");
	const stack = await prepareStack(home, commands, {
		warehouseTypes: chosenWarehouses(process.env),
		terminal,
	});
	return stack.start((program) => supervisor.start(program), terminal, signal);
}

async function removeOrphans(
	records: ChildRecords,
	terminal: Terminal,
): Promise<void> {
	const orphans = records.running();
	if (orphans.length === 0) return;
	terminal.say(
		`An earlier Tidemill was killed and left these running: ${orphans.map(({ name }) => name).join(", ")}. Stopping them first.`,
	);
	await stopOrphans(orphans);
}

/** The action's result, or undefined when the signal fires first. */
async function untilAborted<T>(
	signal: AbortSignal,
	action: Promise<T>,
): Promise<T | undefined> {
	if (signal.aborted) return undefined;
	const aborted = once(signal, "abort").then(() => undefined);
	const result = await Promise.race([action, aborted]);
	// The abandoned action may still fail, and nobody waits for it.
	if (signal.aborted) action.catch(() => {});
	return result;
}

/** Tells a person what runs where, and what to do next. */
function welcome(
	home: LocalHome,
	{ variables, warehouses, consoleURL }: StartedStack,
	publicURL = variables.TIDEMILL_RECEIVE_URL,
): string {
	const fromHere = relative(process.cwd(), home.env);
	const env = shellWord(fromHere.startsWith("..") ? home.env : fromHere);
	return `
Tidemill is ready after ${(process.uptime()).toFixed(1)} s.

  webhooks     ${publicURL}/hooks/…
  REST API     ${variables.TIDEMILL_API_URL}
  console      ${consoleURL}
  Kubernetes   KUBECONFIG=${shellWord(variables.KUBECONFIG!)}
  S3           ${variables.TIDEMILL_S3_ENDPOINT}/${variables.TIDEMILL_S3_BUCKET}
${warehouses.map(addressLine).join("")}  logs         ${shellWord(`${home.logs}/`)}

Next, in another terminal (Ctrl-C here stops everything and keeps the data):

  source ${env}
  kubectl apply -f examples/quickstart/
  kubectl get sources,destinations,pipelines
`;
}

function addressLine({ type, program, address }: WarehouseServer): string {
	return `  ${type.padEnd(12)} ${address}, Secret ${program.name} in the namespace default\n`;
}

await runCommand(() => up(locateHome(), createTerminal()));
