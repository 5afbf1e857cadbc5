import { join, resolve } from "node:path";

/** The project's folder. */
export const projectDirectory = resolve(import.meta.dirname, "../..");

/** What local mode runs as `tidemill`: TIDEMILL_COMMAND, else this checkout's. */
export function tidemillCommand(env: NodeJS.ProcessEnv = process.env): string {
	return env.TIDEMILL_COMMAND || join(projectDirectory, "cli/bin/tidemill");
}

/** Where one local Tidemill keeps all its state, so that several can run side by side. */
export interface Home {
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
): Home {
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
