import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { setInterval } from "node:timers/promises";
import { cacheDirectory } from "../packages/service/cache.ts";
import { issueCode } from "../packages/service/sign-in-codes.ts";
import type { LocalServer } from "./binaries/pinned.ts";
import { envFile, environment } from "./env-file.ts";
import {
	type LocalHome,
	projectDirectory,
	readState,
	tidemillCommand,
	writeState,
	writeWhole,
} from "./machine/home.ts";
import { withLock } from "./machine/lock.ts";
import {
	choosePorts,
	freePort,
	type LocalPorts,
	reservePort,
} from "./machine/ports.ts";
import type { ChildProgram } from "./machine/program.ts";
import type { Terminal } from "./machine/terminal.ts";
import { roles } from "./roles.ts";
import { ensureSecrets, type LocalSecrets, passwordOf } from "./secrets.ts";
import { kubeconfig } from "./servers/kubeconfig.ts";
import {
	etcd,
	kubeApiserver,
	kubeControllerManager,
} from "./servers/kubernetes.ts";
import { nats, natsConfigText, natsUrl } from "./servers/nats.ts";
import { ensurePki, type Pki } from "./servers/pki.ts";
import {
	installResources,
	issueToken,
	kubectlOf,
} from "./servers/resources.ts";
import { s3 } from "./servers/s3.ts";
import {
	installSecret,
	prepareWarehouse,
	type WarehouseServer,
} from "./servers/warehouses.ts";

const bucket = "tidemill";
/** Of the token for the REST API. */
const tokenLifeMs = 3_600_000;
/** A working day: whoever sits at this machine signs in again by `tidemill console`. */
const consoleTokenLifeMs = 12 * 3_600_000;

const users = {
	admin: "admin",
	"controller-manager": "controllerManager",
	operator: "operator",
	node: "node",
	scheduler: "scheduler",
} as const satisfies Record<string, keyof Pki>;

/** One local Tidemill, ready to start: its files are written and its programs known. */
interface Stack {
	/**
	 * Starts everything in order of dependency. Returns once all is ready and the file with the variables for a shell is written.
	 * Renews the token in that file until the signal fires.
	 */
	start(
		startProgram: (program: ChildProgram) => Promise<void>,
		terminal: Terminal,
		signal: AbortSignal,
	): Promise<StartedStack>;
}

export interface StartedStack {
	/** Of a person's shell. */
	variables: Record<string, string>;
	warehouses: WarehouseServer[];
	/** Signs a browser in to the console, once. */
	consoleURL: string;
}

/** Chooses ports, issues missing certificates and passwords, and writes the files that the programs read. */
export async function prepareStack(
	home: LocalHome,
	commands: Record<LocalServer, string>,
	{
		warehouseTypes,
		terminal: early,
	}: { warehouseTypes: string[]; terminal: Terminal },
): Promise<Stack> {
	const reserved = join(cacheDirectory(process.env), "ports");
	const remembered = readState<Partial<LocalPorts>>(home.ports) ?? {};
	const ports = await choosePorts(
		remembered,
		home.ports,
		{ isFree: (port) => reservePort(port, reserved), freePort },
		warehouseTypes.map((type) => type.toLowerCase()),
	);
	writeState(home.ports, { ...remembered, ...ports });
	const pki = await ensurePki(home.pki);
	const secrets = ensureSecrets(home);
	await mkdir(home.bin, { recursive: true, mode: 0o700 });
	await linkCommand(commands.kubectl, join(home.bin, "kubectl"));
	await linkCommand(tidemillCommand(), join(home.bin, "tidemill"));
	// By these kubectl finds `kubectl tidemill`, and completes it.
	for (const name of ["kubectl-tidemill", "kubectl_complete-tidemill"])
		await linkCommand(
			join(projectDirectory, "cli/bin", name),
			join(home.bin, name),
		);
	for (const directory of [home.scratch, home.warehouse, join(home.s3, bucket)])
		await mkdir(directory, { recursive: true, mode: 0o700 });
	await writeKubeconfigs(home, ports, pki);
	const programs = await describePrograms(home, commands, ports, pki, secrets);
	const kubectl = kubectlOf(commands.kubectl, kubeconfigFile(home, "admin"));
	const warehouses = await Promise.all(
		warehouseTypes.map((type) => {
			const name = type.toLowerCase();
			return prepareWarehouse(type, {
				directory: join(home.directory, name),
				port: ports[name]!,
				password: passwordOf(home, name),
				onInstall: (text) => early.update(name, text),
				alone: (folder, action) =>
					withLock(
						join(folder, "lock"),
						({ pid }) => early.update(name, `waiting for process ${pid}`),
						action,
					),
			});
		}),
	);
	return {
		start: async (startProgram, terminal, signal) => {
			const installed = async () => {
				for (const warehouse of warehouses)
					await installSecret(kubectl, home.kube, warehouse);
				return Promise.all([
					issueToken(kubectl, "tidemill", tokenLifeMs),
					issueToken(kubectl, "tidemill-console", consoleTokenLifeMs),
				]);
			};
			const [[token, consoleToken]] = await Promise.all([
				startInOrder(programs, startProgram, {
					install: async () => {
						terminal.update("resources", "applying");
						const api = `127.0.0.1:${ports.api}`;
						await installResources(kubectl, home.kube, api);
						terminal.done("resources", "applied");
					},
					installed,
				}),
				...warehouses.map(({ program }) => startProgram(program)),
			]);
			const variables = {
				...environment({
					home,
					ports,
					secrets,
					bucket,
					kubeconfig: kubeconfigFile(home, "admin"),
				}),
				...Object.assign({}, ...warehouses.map(({ variables }) => variables)),
			};
			const writeEnv = (token: string) => {
				const withToken = { ...variables, TIDEMILL_API_TOKEN: token };
				writeWhole(home.env, envFile(withToken, home.bin));
			};
			writeEnv(token);
			const renew = async () =>
				writeEnv(await issueToken(kubectl, "tidemill", tokenLifeMs));
			void keepRenewed(renew, { lifeMs: tokenLifeMs, signal });
			const code = await issueCode(home.signInCodes, consoleToken);
			return {
				variables,
				warehouses,
				consoleURL: `http://127.0.0.1:${ports.api}/console/#${code}`,
			};
		},
	};
}

/**
 * Each part starts as soon as the parts that it needs are ready. Kubernetes' controllers, which none of them needs, come last: at
 * their start they take as much of the machine as all roles together.
 * @param cluster What to do with it: first of all, and beside the start of the roles.
 */
async function startInOrder<Installed>(
	programs: Awaited<ReturnType<typeof describePrograms>>,
	startProgram: (program: ChildProgram) => Promise<void>,
	{
		install,
		installed,
	}: { install(): Promise<void>; installed(): Promise<Installed> },
): Promise<Installed> {
	const messages = startProgram(programs.nats);
	const objects = startProgram(programs.s3);
	const apiserver = startProgram(programs.etcd).then(() =>
		startProgram(programs.apiserver),
	);
	const cluster = apiserver.then(install);
	const after = (needed: Promise<unknown>[], program: ChildProgram) =>
		Promise.all(needed).then(() => startProgram(program));
	const roles = [
		after([messages], programs.receive),
		after([messages, objects], programs.archive),
		after([messages, cluster], programs.operator),
		after([cluster], programs.node),
		after([messages, cluster], programs.api),
		after([messages], programs.notify),
	];
	const [result] = await Promise.all([
		cluster.then(installed),
		after(roles, programs.controllerManager),
	]);
	return result;
}

async function describePrograms(
	home: LocalHome,
	commands: Record<LocalServer, string>,
	ports: LocalPorts,
	pki: Pki,
	secrets: LocalSecrets,
) {
	const natsConfigFile = join(home.nats, "nats.conf");
	const natsSettings = {
		port: ports.nats,
		storeDirectory: home.nats,
		passwords: secrets.nats,
	};
	await mkdir(home.nats, { recursive: true, mode: 0o700 });
	writeWhole(natsConfigFile, natsConfigText(natsSettings));
	return {
		etcd: etcd({
			command: commands.etcd,
			dataDirectory: home.etcd,
			clientPort: ports.etcd,
			peerPort: ports.etcdPeer,
			pki,
		}),
		nats: nats({
			command: commands["nats-server"],
			configFile: natsConfigFile,
			...natsSettings,
		}),
		s3: s3({
			command: commands.versitygw,
			port: ports.s3,
			directory: home.s3,
			...secrets.s3,
		}),
		apiserver: kubeApiserver({
			command: commands["kube-apiserver"],
			port: ports.apiserver,
			etcdPort: ports.etcd,
			pki,
		}),
		controllerManager: kubeControllerManager({
			command: commands["kube-controller-manager"],
			kubeconfigFile: kubeconfigFile(home, "controller-manager"),
			apiserverPort: ports.apiserver,
			pki,
		}),
		...roles({
			home,
			ports,
			pki,
			natsUrl: (role) => natsUrl(natsSettings, role),
			s3: { bucket, ...secrets.s3 },
			kubeconfig: (user) => kubeconfigFile(home, user),
		}),
	};
}

async function writeKubeconfigs(
	home: LocalHome,
	ports: LocalPorts,
	pki: Pki,
): Promise<void> {
	await mkdir(home.kube, { recursive: true, mode: 0o700 });
	const cluster = {
		name: "tidemill-local",
		server: `https://127.0.0.1:${ports.apiserver}`,
		ca: pki.ca.cert,
		namespace: "default",
	};
	for (const [name, pair] of Object.entries(users)) {
		const { cert, key } = pki[pair];
		writeWhole(
			kubeconfigFile(home, name),
			kubeconfig({ ...cluster, user: { name, cert, key } }),
		);
	}
	// The API has no credentials of its own: it acts with its callers' tokens.
	writeWhole(kubeconfigFile(home, "api"), kubeconfig(cluster));
}

function kubeconfigFile(home: LocalHome, user: string): string {
	return join(home.kube, `${user}.yaml`);
}

async function linkCommand(target: string, path: string): Promise<void> {
	await rm(path, { force: true });
	await symlink(target, path);
}

/**
 * Renews a token that was just issued, each time half of its life is over, until the signal fires. After a failure, and after the
 * machine has slept, it renews at the next check.
 */
export async function keepRenewed(
	renew: () => Promise<void>,
	options: {
		lifeMs: number;
		signal: AbortSignal;
		checkMs?: number;
		now?: () => number;
	},
): Promise<void> {
	const { lifeMs, signal, checkMs = 10_000, now = Date.now } = options;
	let renewedMs = now();
	try {
		for await (const _ of setInterval(checkMs, undefined, { signal })) {
			const nowMs = now();
			if (nowMs - renewedMs < lifeMs / 2) continue;
			const isRenewed = await renew().then(
				() => true,
				() => false,
			);
			if (isRenewed) renewedMs = nowMs;
		}
	} catch (error) {
		if (!signal.aborted) throw error;
	}
}
