import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { startLocalMode } from "../../support/servers/local-mode.ts";
import { done, pythonEnvironment } from "../../support/servers/python.ts";

/*
 * Part of `make test-ecosystem`: the Python client's own tests, and the examples of examples/{airflow,dagster,prefect} in the
 * real packages against a whole local Tidemill. Arguments name some of them. What is installed stays in the cache.
 */
const packages = {
	client: ["httpx==0.28.1", "mypy==2.4.1", "pytest==9.2.0"],
	airflow: [
		"apache-airflow==3.3.2",
		"apache-airflow-providers-http==6.3.0",
		"mypy==2.4.1",
	],
	dagster: ["dagster==1.13.29", "mypy==2.4.1"],
	// Later versions of FastAPI lack what this version of Prefect asks of it.
	prefect: ["prefect==3.8.8", "fastapi==0.139.0", "starlette==1.0.1"],
};
type Orchestrator = keyof typeof packages;

const root = join(import.meta.dirname, "../../..");
const names = Object.keys(packages) as Orchestrator[];
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !names.some((one) => one === name));
if (unknown.length > 0)
	throw new Error(`There is no ${unknown.join(" or ")}. There are: ${names}.`);
const chosen = names.filter(
	(name) => wanted.length === 0 || wanted.includes(name),
);

const scratch = await mkdtemp(join(tmpdir(), "tidemill-orchestrators-"));
const local = await startLocalMode();
const failures: string[] = [];
try {
	await quickStart(local.home);
	for (const name of chosen) {
		const startMs = performance.now();
		const failure = await tryOut(name).catch((error: Error) => error);
		const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
		console.log(`${failure ? "✗" : "✓"} ${name} (${seconds} s)`);
		if (failure) {
			console.log(failure.message);
			failures.push(name);
		}
	}
} finally {
	await local.stop();
	await rm(scratch, { recursive: true, force: true, maxRetries: 10 });
}
process.exit(failures.length > 0 ? 1 : 0);

async function tryOut(name: Orchestrator): Promise<void> {
	const versions = packages[name]
		.map((one) => one.replace(/^apache-/, "").replace("==", "-"))
		.join("_");
	const bin = await pythonEnvironment(
		`orchestrators-${versions}`,
		// They build the two packages of clients/.
		[...packages[name], "httpx==0.28.1", "hatchling==1.27.0", "pytest==9.2.0"],
	);
	const site = join(scratch, name);
	const own = name === "airflow" ? ["python", "airflow"] : ["python"];
	await done(join(bin, "pip"), [
		...["install", "--quiet", "--no-deps", "--no-build-isolation"],
		...["--target", site, ...own.map((one) => join(root, "clients", one))],
	]);
	await program(
		name,
		[
			join(bin, "python3"),
			"-m",
			"pytest",
			"-q",
			"-p",
			"no:cacheprovider",
			// Two folders have a test_client.py.
			"--import-mode=importlib",
			...(name === "client" ? [join(root, "clients/python/tests")] : []),
			join(import.meta.dirname, `test_${name}.py`),
		],
		site,
	);
}

async function quickStart(home: string): Promise<void> {
	const lines = [
		"kubectl apply -f examples/quickstart/",
		"kubectl wait --for=condition=Ready sources,destinations,pipelines --all --timeout=60s",
		"url=$(kubectl get source shop -o jsonpath={.status.webhookURL})",
		`curl -sS "$url" -d '{"order": 1}' -H 'content-type: application/json'`,
		`curl -sS "$url" -d '{"order": 2}' -H 'content-type: application/json'`,
	];
	await done("sh", [
		"-ec",
		`cd "$1"; . "$0/env"; ${lines.join("; ")}`,
		home,
		root,
	]);
}

/** Runs a program in a shell that has sourced the local Tidemill's variables. Throws the end of what it says. */
function program(name: string, command: string[], site: string): Promise<void> {
	const child = spawn(
		"sh",
		["-ec", '. "$0/env"; exec "$@"', local.home, ...command],
		{
			cwd: scratch,
			env: {
				...process.env,
				PYTHONPATH: [site, import.meta.dirname].join(delimiter),
				PYTHONDONTWRITEBYTECODE: "1",
				PATH: `${join(command[0]!, "..")}:${process.env.PATH}`,
				EXAMPLES: join(root, "examples", name),
				CLIENTS: join(root, "clients"),
			},
			stdio: ["ignore", "pipe", "pipe"],
		},
	);
	let said = "";
	for (const stream of [child.stdout, child.stderr])
		stream.on("data", (text) => {
			said += text;
		});
	return new Promise((resolve, reject) => {
		child.once("error", reject);
		child.once("close", (code) => {
			if (code === 0) resolve();
			else reject(new Error(said.slice(-20_000)));
		});
	});
}
