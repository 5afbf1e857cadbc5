import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createSecureContext } from "node:tls";
// prom-client: the field's metrics library, with the text format and defaults for Node.
import { Registry } from "prom-client";
import { startHealthServer } from "../../packages/service/health-server.ts";
import { createLog, type Logger } from "../../packages/service/log.ts";
import { connectNats } from "../../packages/service/nats/connection.ts";
import { backoffMs, pause } from "../../packages/service/pause.ts";
import {
	filesIn,
	SecretFiles,
	whenFilesWork,
	withoutLineEnd,
} from "../../packages/service/secret-files.ts";
import { SettingError, Settings } from "../../packages/service/settings.ts";
import { stopSignal } from "../../packages/service/start-order.ts";
import { makeStreams } from "../../packages/streams/stream-maker.ts";
import { endAfterFullDisk } from "./full-disk.ts";
import { passwordVariable } from "./nats-config.ts";
import { type NatsUser, natsUsers } from "./nats-users.ts";
import { randomPassword } from "./secret-changes.ts";

const tickMs = 1_000;
/** nats-server loads its configuration in much less. */
const loadMs = 5_000;
const refusedBackoff = { baseMs: 5_000, maxMs: 60_000 };

/**
 * `tidemill nats-reloader`: beside a nats-server, whose configuration can't read a password from a file of its own. Writes
 * the passwords into one that the configuration includes, and has nats-server read all again whenever a password or a
 * certificate has changed. With `data` it has Kubernetes start a nats-server anew that a full disk has stopped. With `NATS_URL` it makes the roles' streams as archive does, whose user it has, so that a lost one is
 * back while archive is away. Returns the exit code.
 */
export async function main(options: {
	/** Folder with a file for each user; its content is the password. */
	passwords?: string | undefined;
	/** Folder with tls.crt, tls.key and ca.crt; undefined without TLS. */
	tls?: string | undefined;
	/** The file to write, which nats-server's configuration includes. */
	usersFile?: string | undefined;
	/** nats-server's configuration, by which its process is found. */
	config?: string | undefined;
	/** URL of nats-server's monitoring port. */
	monitor?: string | undefined;
	/** A folder on nats-server's disk, to start it anew when it has stopped to write. */
	data?: string | undefined;
}): Promise<number> {
	const { passwords, usersFile, config, monitor, data, tls } = options;
	if (!passwords || !usersFile || !config || !monitor)
		throw new SettingError(
			"--passwords, --users-file, --config and --monitor are required.",
		);
	const log = createLog("nats-reloader");
	const settings = new Settings();
	const stop = stopSignal();
	let reason: string | undefined;
	const health = await startHealthServer(settings, {
		ready: () => reason,
		registry: new Registry(),
	});
	log.info({ healthPort: health.port }, "nats-reloader starts");
	const read = () =>
		new SecretFiles({
			setting: tls ? "--passwords, --tls" : "--passwords",
			files: () => [...filesIn(passwords), ...(tls ? tlsFiles(tls) : [])],
			parse: (read) => {
				if (tls) checkPair(tls, read);
				return usersText(filesIn(passwords), read);
			},
			log,
		});
	const onFault = (fault: string) => {
		reason = fault;
	};
	reason = "nats-server's users aren't written yet";
	const files = await whenFilesWork(read, onFault, log, stop);
	reason = undefined;
	let changedAtMs = write(usersFile, files.value);
	const making = makeStreamsOf(settings, log, stop).catch((error) =>
		// NATS needs its passwords all the same.
		log.error({ err: error }, "can't make the roles' lost streams"),
	);
	const ending = data
		? endAfterFullDisk({ monitor, data, pid: () => pidOf(config), log }, stop)
		: undefined;
	let failures = 0;
	files.onChange((text) => {
		changedAtMs = write(usersFile, text);
		failures = 0;
	});
	let isLoaded = false;
	while (!stop.aborted) {
		const wantedMs = changedAtMs;
		const loaded = await reload({ config, monitor, wantedMs });
		// A server that doesn't run yet reads the files when it starts.
		if (loaded === "refused") {
			failures++;
			reason =
				"nats-server doesn't take its changed configuration and goes on with the former one; its log says why";
			log.warn(reason);
			await pause(backoffMs(failures, refusedBackoff), stop);
			continue;
		}
		if (loaded === "loaded" && !isLoaded)
			log.info("nats-server has what its Secrets hold");
		isLoaded = loaded === "loaded" && wantedMs === changedAtMs;
		reason = undefined;
		do await pause(tickMs, stop);
		while (!stop.aborted && isLoaded && wantedMs === changedAtMs);
		if (wantedMs !== changedAtMs) isLoaded = false;
	}
	files.close();
	await making;
	await ending;
	await health.close();
	return 0;
}

/** Until the signal. Who has NATS's Pods has all of NATS, so this process gains nothing by archive's user. */
async function makeStreamsOf(
	settings: Settings,
	log: Logger,
	stop: AbortSignal,
): Promise<void> {
	if (settings.optional("NATS_URL") === undefined) return;
	const replicas = settings.replicas();
	const connection = await connectNats(settings, "archive", log, stop).catch(
		(error) => {
			if (!stop.aborted) throw error;
		},
	);
	if (!connection) return;
	// NATS may have stopped before: what waits for it ends with the connection.
	stop.addEventListener("abort", () => void connection.close());
	await makeStreams({ connection, replicas, log }, stop);
	await connection.close();
}

/** Has nats-server read its configuration, unless it has done so since the change. */
async function reload({
	config,
	monitor,
	wantedMs,
}: {
	config: string;
	monitor: string;
	wantedMs: number;
}): Promise<"loaded" | "refused" | "not running"> {
	const before = await loadedAtMs(monitor);
	const pid = before === undefined ? undefined : pidOf(config);
	if (before === undefined || pid === undefined) return "not running";
	if (before > wantedMs) return "loaded";
	process.kill(pid, "SIGHUP");
	const deadlineMs = performance.now() + loadMs;
	while (performance.now() < deadlineMs) {
		await pause(100, AbortSignal.timeout(loadMs));
		const now = await loadedAtMs(monitor);
		if (now === undefined) return "not running";
		if (now > before) return "loaded";
	}
	return "refused";
}

/** When nats-server read its configuration last, in milliseconds since 1970; undefined if it doesn't answer. */
async function loadedAtMs(monitor: string): Promise<number | undefined> {
	try {
		const signal = AbortSignal.timeout(tickMs);
		const answer = await fetch(`${monitor}/varz`, { signal });
		const { config_load_time } = (await answer.json()) as {
			config_load_time: string;
		};
		return Date.parse(config_load_time);
	} catch {
		return undefined;
	}
}

/** The process that was started with this configuration (proc(5)). The Pod's containers share their processes. */
function pidOf(config: string): number | undefined {
	for (const name of readdirSync("/proc")) {
		if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
		try {
			const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
			const at = args.indexOf("--config");
			if (at > 0 && args[at + 1] === config) return Number(name);
		} catch {
			// It has ended.
		}
	}
	return undefined;
}

/** Whole or not at all. Returns when. */
function write(file: string, text: string): number {
	writeFileSync(`${file}.new`, text, { mode: 0o600 });
	renameSync(`${file}.new`, file);
	return Date.now();
}

/** As nats-server's configuration: a variable for each user. */
function usersText(
	files: readonly string[],
	read: (file: string) => string,
): string {
	const passwords = new Map(
		files.map((file) => [basename(file), withoutLineEnd(read(file))]),
	);
	return natsUsers
		.map((user) => {
			const password = passwords.get(user) || missing(user);
			return `${passwordVariable(user)}: ${JSON.stringify(password)}\n`;
		})
		.join("");
}

const nobodys = new Map<NatsUser, string>();

/** A Secret of one's own may have no second users. Nobody can sign in as one then. */
function missing(user: NatsUser): string {
	if (!user.endsWith("-b"))
		throw new SettingError(
			`NATS's Secret has no password for the user ${user}. Add the key ${user}.`,
		);
	if (!nobodys.has(user)) nobodys.set(user, randomPassword());
	return nobodys.get(user)!;
}

function tlsFiles(directory: string): string[] {
	return ["tls.crt", "tls.key", "ca.crt"].map((name) => join(directory, name));
}

function checkPair(directory: string, read: (file: string) => string): void {
	const [cert, key] = tlsFiles(directory);
	try {
		createSecureContext({ cert: read(cert!), key: read(key!) });
	} catch (error) {
		throw new SettingError(
			`the certificate of NATS's Secret doesn't work (${(error as Error).message}). tls.crt and tls.key must belong together.`,
		);
	}
}
