import { spawnSync } from "node:child_process";
import { join } from "node:path";

/*
 * `make kind-up`: a cluster in containers of this machine, with Tidemill's image and chart, and the quick start in it. Each
 * step can be repeated, so a second start goes on where the first one stopped. `make kind-down` removes it with everything in it.
 */
const root = join(import.meta.dirname, "..");
const cluster = process.env.KIND_CLUSTER || "tidemill";
const context = `kind-${cluster}`;
const image = "localhost/tidemill:kind";
const inCluster = ["--context", context, "--namespace", "default"];

const programs = {
	docker: "https://docs.docker.com/get-docker",
	kind: "https://kind.sigs.k8s.io",
	helm: "https://helm.sh",
	kubectl: "https://kubernetes.io/docs/tasks/tools",
};

try {
	if (process.argv[2] === "down") removeCluster();
	else await makeCluster();
} catch (error) {
	console.error(`\n${(error as Error).message}`);
	process.exitCode = 1;
}

async function makeCluster(): Promise<void> {
	requirePrograms();
	if (!ask("kind", ["get", "clusters"]).split("\n").includes(cluster))
		run("Creating the cluster", "kind", [
			...["create", "cluster", "--name", cluster, "--wait", "120s"],
			...["--config", join(root, "examples/kind/cluster.yaml")],
		]);
	run("Building the image", process.execPath, ["tools/image/build.ts"], {
		IMAGE: image,
	});
	run("Loading the image into the node", "kind", [
		...["load", "docker-image", image, "--name", cluster],
	]);
	run("Installing the chart", "helm", [
		...["upgrade", "--install", "tidemill", "charts/tidemill"],
		...["--kube-context", context, "--namespace", "tidemill-system"],
		...["--create-namespace", "--values", "examples/kind/values.yaml"],
		...["--wait", "--timeout", "10m"],
	]);
	run("Creating a Source, a Destination and a Pipeline", "kubectl", [
		...[...inCluster, "apply", "--kustomize", "examples/kind/quickstart"],
	]);
	run("Waiting until they are ready", "kubectl", [
		...[...inCluster, "wait", "--for=condition=Ready", "--timeout=300s"],
		...["source/shop", "destination/warehouse", "pipeline/orders"],
	]);
	const url = ask("kubectl", [
		...[...inCluster, "get", "source/shop"],
		"--output=jsonpath={.status.webhookURL}",
	]);
	console.log(`\nSending an event to ${url}`);
	console.log(await send(url, { order: 1, item: "Käse" }));
	const created = ask("kubectl", [
		...[...inCluster, "create", "--output=name"],
		"--filename=examples/quickstart/run/run.yaml",
	]);
	run("Waiting for the Run", "kubectl", [
		...[...inCluster, "wait", "--for=condition=Complete", "--timeout=300s"],
		created,
	]);
	run("It has loaded", "kubectl", [...inCluster, "get", "pipelines,runs"]);
	console.log(`
Tidemill runs in the kind cluster "${cluster}". Send more events to
  ${url}
look at everything with
  kubectl --context ${context} get sources,destinations,pipelines,runs
and remove the cluster with
  make kind-down`);
}

function removeCluster(): void {
	const { status, error } = spawnSync(
		"kind",
		["delete", "cluster", "--name", cluster],
		{ stdio: "inherit" },
	);
	if (error)
		throw new Error("make kind-down needs kind, which is not on the PATH.");
	process.exitCode = status ?? 1;
}

function requirePrograms(): void {
	for (const [name, where] of Object.entries(programs)) {
		const { error } = spawnSync(name, ["version"], { stdio: "ignore" });
		if (error)
			throw new Error(
				`make kind-up needs ${name}, which is not on the PATH. Install it: ${where}. Without a container engine, make up needs none of these.`,
			);
	}
	if (spawnSync("docker", ["info"], { stdio: "ignore" }).status !== 0)
		throw new Error(
			"Docker does not answer. Start it and run make kind-up again.",
		);
}

/** Shows what the program says. */
function run(
	what: string,
	program: string,
	args: string[],
	env: Record<string, string> = {},
): void {
	console.log(`\n${what}`);
	const { status } = spawnSync(program, args, {
		cwd: root,
		stdio: "inherit",
		env: { ...process.env, ...env },
	});
	if (status !== 0)
		throw new Error(
			`${what} failed: ${program} ended with status ${status}; the reason is above. Fix it, then run make kind-up again.`,
		);
}

/** What the program prints. */
function ask(program: string, args: string[]): string {
	const { status, stdout, stderr } = spawnSync(program, args, {
		cwd: root,
		encoding: "utf8",
	});
	if (status !== 0)
		throw new Error(`${program} ${args.join(" ")} failed: ${stderr}`);
	return stdout.trim();
}

async function send(url: string, event: object): Promise<string> {
	const response = await fetch(url, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify(event),
		signal: AbortSignal.timeout(30_000),
	});
	const answer = await response.text();
	if (!response.ok)
		throw new Error(`Receive answered ${response.status}: ${answer}`);
	return answer;
}
