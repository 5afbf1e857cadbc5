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

/**
 * Installs Tidemill's kinds, namespace and roles. Repeatable; it keeps what a person has added.
 * @param directory For a file.
 * @param apiAddress Of the REST API.
 */
export async function installResources(
	kubectl: Kubectl,
	directory: string,
	apiAddress: string,
): Promise<void> {
	const crds = await crdFiles();
	const roles = [
		"local/servers/resources.yaml",
		"charts/tidemill/files/rbac/rbac.yaml",
		"charts/tidemill/files/rbac/roles.yaml",
	];
	const address = join(directory, "api-address.json");
	writeWhole(address, JSON.stringify(apiAddressList(apiAddress)));
	// One program: each start of kubectl costs a tenth of a second.
	const applied = await apply(
		kubectl,
		[...crds, ...roles.map((file) => join(projectDirectory, file)), address],
		"--output=json",
	);
	const { items } = JSON.parse(applied) as { items: KubeObject[] };
	const established = items.filter(({ status }) =>
		status?.conditions?.some(
			({ type, status }) => type === "Established" && status === "True",
		),
	);
	if (established.length === crds.length) return;
	await kubectl(
		"wait",
		"--for=condition=Established",
		"--timeout=60s",
		...crds.map((file) => `--filename=${file}`),
	);
}

interface KubeObject {
	status?: { conditions?: { type: string; status: string }[] };
}

/** Lets the cluster say where its REST API is, as charts/tidemill/templates/api/address.yaml does: the command line sends tokens to no other. */
function apiAddressList(address: string): object {
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
	return { apiVersion: "v1", kind: "List", items };
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

function apply(
	kubectl: Kubectl,
	files: readonly string[],
	...options: string[]
): Promise<string> {
	return kubectl(
		"apply",
		"--server-side",
		"--force-conflicts",
		// To validate, kubectl has the apiserver describe every group, which takes a second of CPU. A server-side apply refuses fields
		// that a kind lacks by itself.
		"--validate=false",
		"--field-manager=tidemill-local",
		...options,
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
