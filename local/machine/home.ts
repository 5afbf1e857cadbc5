import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { codesOf } from "../../packages/service/sign-in-codes.ts";
import { problem } from "./errors.ts";

/** The project's folder. */
export const projectDirectory = resolve(import.meta.dirname, "../..");

/** What local mode runs as `tidemill`: TIDEMILL_COMMAND, else this checkout's. */
export function tidemillCommand(env: NodeJS.ProcessEnv = process.env): string {
	return env.TIDEMILL_COMMAND || join(projectDirectory, "cli/bin/tidemill");
}

/** Where one local Tidemill keeps all its state, so that several can run side by side. */
export interface LocalHome {
	directory: string;
	/** Held by the running supervisor. */
	lock: string;
	/** The running children, {@link file://./child-records.ts ChildRecords}. */
	children: string;
	ports: string;
	/** Passwords. Only the owner may read it. */
	secrets: string;
	/** The key with which operator seals signing secrets for receive. */
	sealKey: string;
	/** The key with which the API seals the console's sessions. */
	consoleKey: string;
	/** Codes that sign a browser in to the console. */
	signInCodes: string;
	/** The URL under which the internet reaches receive, if it does. */
	publicURL: string;
	/** Shell exports for people. */
	env: string;
	logs: string;
	pki: string;
	/** Kubeconfig files, `<user>.yaml`. */
	kube: string;
	/** kubectl, and `tidemill` itself. */
	bin: string;
	etcd: string;
	nats: string;
	/** Buckets. */
	s3: string;
	scratch: string;
	/** DuckDB files: `<namespace>/<duckDB.path>`. */
	warehouse: string;
}

/** `TIDEMILL_HOME`, relative to the working directory, else `.tidemill` in the project. */
export function locateHome(
	env: NodeJS.ProcessEnv = process.env,
	workingDirectory: string = process.cwd(),
): LocalHome {
	const directory = env.TIDEMILL_HOME
		? resolve(workingDirectory, env.TIDEMILL_HOME)
		: join(projectDirectory, ".tidemill");
	const inside = (name: string) => join(directory, name);
	return {
		directory,
		lock: inside("lock"),
		children: inside("children.json"),
		ports: inside("ports.json"),
		secrets: inside("secrets.json"),
		sealKey: inside("seal-key"),
		consoleKey: inside("console-key"),
		signInCodes: codesOf(directory),
		publicURL: inside("public-url"),
		env: inside("env"),
		logs: inside("logs"),
		pki: inside("pki"),
		kube: inside("kube"),
		bin: inside("bin"),
		etcd: inside("etcd"),
		nats: inside("nats"),
		s3: inside("s3"),
		scratch: inside("scratch"),
		warehouse: inside("warehouse"),
	};
}

/** Reads a JSON file; undefined when there is none. Throws a LocalError when it isn't JSON. */
export function readState<T>(path: string): T | undefined {
	let text: string;
	try {
		text = readFileSync(path, "utf8");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
	try {
		return JSON.parse(text) as T;
	} catch {
		throw problem.stateUnreadable(path);
	}
}

/** Writes a file atomically, readable only by its owner. Synchronous: it is in place when the call returns. */
export function writeWhole(path: string, text: string): void {
	writeFileSync(`${path}.new`, text, { mode: 0o600 });
	renameSync(`${path}.new`, path);
}

export function writeState(path: string, state: unknown): void {
	writeWhole(path, `${JSON.stringify(state, undefined, "\t")}\n`);
}

/** Etcd alone reserves 128 MB at its first start. With less than this, servers fail in obscure ways. */
const leastFreeBytes = 512 * 1024 ** 2;

/** Throws a LocalError when the disk of `directory` has too little space for a start. */
export async function checkSpace(
	directory: string,
	leastBytes: number = leastFreeBytes,
): Promise<void> {
	const { bavail, bsize } = await statfs(directory);
	const freeBytes = bavail * bsize;
	if (freeBytes < leastBytes)
		throw problem.diskAlmostFull(directory, freeBytes, leastBytes);
}
