import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";

const namespace = "tidemill-system";
const chart = join(import.meta.dirname, "../../../charts/tidemill");

/** The chart with the values to try it out, for `kubectl apply`: a release carries it as install.yaml. */
export async function installYaml(): Promise<string> {
	const about = await readFile(join(chart, "Chart.yaml"), "utf8");
	const [, oldest] = /^kubeVersion: ">=([\d.]+)/m.exec(about)!;
	const manifests = await helm(
		...["template", "tidemill", chart, `--namespace=${namespace}`],
		`--values=${join(chart, "examples/try-out.yaml")}`,
		// It is there in each cluster.
		"--set=operator.watchNamespaces={default}",
		"--skip-tests",
		// Newer clusters take what older ones do.
		`--kube-version=${oldest}`,
	);
	return `${introduction}${manifests}`;
}

const introduction = `# Tidemill to try out: one NATS server and a bundled object store. For events that matter, install the Helm chart.
#   kubectl apply --server-side --filename install.yaml
apiVersion: v1
kind: Namespace
metadata:
  name: ${namespace}
`;

/** Runs helm and returns what it prints. Throws what it complains about. */
export async function helm(...args: string[]): Promise<string> {
	const { helm: command } = await resolveBinaries(["helm"]);
	try {
		const { stdout } = await promisify(execFile)(command, args, {
			maxBuffer: 64 * 1024 * 1024,
		});
		return stdout;
	} catch (error) {
		const { stdout, stderr } = error as { stdout: string; stderr: string };
		throw new Error(`helm ${args[0]}: ${stdout}${stderr}`);
	}
}

if (import.meta.main) {
	const [file = "install.yaml"] = process.argv.slice(2);
	await writeFile(file, await installYaml());
	console.log(file);
}
