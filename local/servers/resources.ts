import { execFile } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { LocalError } from "../machine/errors.ts";
import { projectDirectory, writeWhole } from "../machine/home.ts";

/** Runs kubectl as administrator of a cluster. Throws a LocalError with what kubectl said. */
export type Kubectl = (...args: string[]) => Promise<string>;

export function kubectlOf(
	command: string,
	kubeconfig: string,
	cluster = "the local cluster",
): Kubectl {
	return async (...args) => {
		try {
			const { stdout } = await promisify(execFile)(
				command,
				["--kubeconfig", kubeconfig, ...args],
				{ maxBuffer: 64 * 1024 * 1024 },
			);
			return stdout;
		} catch (error) {
			const { stderr, message } = error as Error & { stderr?: string };
			throw new LocalError(
				`kubectl ${args[0]} failed on ${cluster}: ${stderr?.trim() || message}`,
			);
		}
	};
}

/** Installs Tidemill's kinds, namespace and roles. Repeatable; it keeps what a person has added. */
export async function installResources(kubectl: Kubectl): Promise<void> {
	const crds = await crdFiles();
	const roles = [
		"local/servers/resources.yaml",
		"charts/tidemill/files/rbac/rbac.yaml",
		"charts/tidemill/files/rbac/roles.yaml",
	];
	await apply(kubectl, [
		...crds,
		...roles.map((file) => join(projectDirectory, file)),
	]);
	await kubectl(
		"wait",
		"--for=condition=Established",
		"--timeout=60s",
		...crds.map((file) => `--filename=${file}`),
	);
}

/** Lets the cluster say where its REST API is, as charts/tidemill/templates/api/address.yaml does: the command line sends tokens to no other. */
export async function stateApiAddress(
	kubectl: Kubectl,
	directory: string,
	address: string,
): Promise<void> {
	const apiVersion = "rbac.authorization.k8s.io/v1";
	const apiGroup = "rbac.authorization.k8s.io";
	const metadata = { name: "tidemill-api-address" };
	const rule = {
		...{ apiGroups: ["tidemill.dev"], resources: ["apis"] },
		...{ resourceNames: [address], verbs: ["use"] },
	};
	const items = [
		{ apiVersion, kind: "ClusterRole", metadata, rules: [rule] },
		{
			...{ apiVersion, kind: "ClusterRoleBinding", metadata },
			roleRef: { apiGroup, kind: "ClusterRole", name: metadata.name },
			subjects: [{ apiGroup, kind: "Group", name: "system:authenticated" }],
		},
	];
	const list = { apiVersion: "v1", kind: "List", items };
	await applyObject(kubectl, directory, "api-address", list);
}

/** Applies one object by a file that is removed then: a Secret would stand in kubectl's arguments. @param name of the file. */
export async function applyObject(
	kubectl: Kubectl,
	directory: string,
	name: string,
	object: object,
): Promise<void> {
	const file = join(directory, `${name}.json`);
	writeWhole(file, JSON.stringify(object));
	await apply(kubectl, [file]);
	await rm(file);
}

function apply(kubectl: Kubectl, files: readonly string[]): Promise<string> {
	return kubectl(
		"apply",
		"--server-side",
		"--force-conflicts",
		"--field-manager=tidemill-local",
		...files.map((file) => `--filename=${file}`),
	);
}

/** Paths of the manifests that define Tidemill's kinds. */
export async function crdFiles(): Promise<string[]> {
	const directory = join(projectDirectory, "charts/tidemill/files/crds");
	return (await readdir(directory))
		.filter((file) => file.endsWith(".yaml"))
		.map((file) => join(directory, file));
}

/** A token for the REST API, of a ServiceAccount that local/servers/resources.yaml makes. */
export async function issueToken(
	kubectl: Kubectl,
	serviceAccount: "tidemill" | "tidemill-console",
	lifeMs: number,
): Promise<string> {
	const token = await kubectl(
		"create",
		"token",
		serviceAccount,
		"--namespace=default",
		`--duration=${lifeMs / 1000}s`,
	);
	return token.trim();
}
