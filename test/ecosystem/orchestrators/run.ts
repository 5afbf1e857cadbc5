import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import {
	documented,
	documentedText,
} from "../../support/examples/documented.ts";
import { withProgress } from "../../support/progress.ts";
import { startLocalMode } from "../../support/servers/local-mode.ts";
import { pythonEnvironment } from "../../support/servers/python.ts";
import { ownEnvironment } from "./own-environment.ts";

/*
 * Part of `make test-ecosystem`: the commands of docs/orchestrators.md, the Python client's own tests, and the examples of
 * examples/{airflow,dagster,prefect} in the real packages against a whole local Tidemill. Arguments name some of them. What
 * is installed stays in the cache.
 */
interface Subject {
	packages: string[];
	/** What a new user of it runs of docs/orchestrators.md. */
	commands: string[];
	/** Further tests. */
	tests?: string;
}
/** What the tests need, and what builds the packages of clients/. */
const tools = [
	...["httpx==0.28.1", "hatchling==1.27.0"],
	...["mypy==2.4.1", "pytest==9.2.0"],
];
const [run, ...more] = documented("clients/python/README.md python");
const subjects: Record<string, Subject> = {
	client: {
		packages: ["httpx==0.28.1"],
		commands: [
			documentedText("docs/orchestrators.md#python sh"),
			program(documentedText("docs/orchestrators.md#python python")),
			documentedText("docs/orchestrators.md#anything-else sh"),
			program(run!.text),
			`export TIDEMILL_API_TOKEN=$(tidemill tokens create readme --scope edit -n readme)
			${program(`from tidemill import Tidemill\ntidemill = Tidemill()\n${more.map(({ text }) => text).join("")}`)}`,
		],
		tests: "clients/python/tests",
	},
	airflow: {
		packages: ["apache-airflow==3.3.2", "apache-airflow-providers-http==6.3.0"],
		commands: [documentedText("docs/orchestrators.md#airflow sh")],
	},
	dagster: {
		packages: ["dagster==1.13.29"],
		commands: [documentedText("docs/orchestrators.md#dagster sh")],
	},
	// Later versions of FastAPI lack what this version of Prefect asks of it.
	prefect: {
		packages: ["prefect==3.8.8", "fastapi==0.139.0", "starlette==1.0.1"],
		commands: [documentedText("docs/orchestrators.md#prefect sh")],
	},
};

const root = join(import.meta.dirname, "../../..");
const names = Object.keys(subjects);
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0)
	throw new Error(`There is no ${unknown.join(" or ")}. There are: ${names}.`);
const chosen = names.filter(
	(name) => wanted.length === 0 || wanted.includes(name),
);

const scratch = await mkdtemp(join(tmpdir(), "tidemill-orchestrators-"));
const failures: string[] = [];
const environments = new Map<string, string>();
for (const name of chosen)
	await attempt(name, "installed", async () => {
		const { packages } = subjects[name]!;
		const versions = packages.map((one) => one.replace(/^apache-/, ""));
		const label = versions.join("_").replaceAll("==", "-");
		environments.set(
			name,
			await pythonEnvironment(`orchestrators-${label}`, [
				...packages,
				...tools,
			]),
		);
	});
const local = await startLocalMode();
try {
	const token = await quickStart();
	for (const [name, bin] of environments) {
		const env = await environmentOf(name, bin, token);
		const { commands, tests } = subjects[name]!;
		for (const block of commands)
			await attempt(name, block.trim().split("\n").at(-1)!, () =>
				shell(block, env),
			);
		await attempt(name, "its tests", () =>
			shell(
				`cd "$SCRATCH"; python3 -m pytest -q -p no:cacheprovider --import-mode=importlib ${[
					...(tests ? [join(root, tests)] : []),
					join(import.meta.dirname, `test_${name}.py`),
				].join(" ")}`,
				env,
			),
		);
	}
} finally {
	await local.stop();
	await rm(scratch, { recursive: true, force: true, maxRetries: 10 });
}
process.exit(failures.length > 0 ? 1 : 0);

/**
 * The first table, and the token that the page has a person make. Runs don't try again by themselves: the tests are about the
 * orchestrators' retries.
 */
async function quickStart(): Promise<string> {
	await shell(`kubectl apply -f examples/quickstart/
		kubectl patch pipeline orders --type=merge -p '{"spec": {"runTemplate": {"retries": 0}}}'
		kubectl wait --for=condition=Ready sources,destinations,pipelines --all --timeout=120s
		url=$(kubectl get source shop -o jsonpath={.status.webhookURL})
		curl -sS "$url" -d '{"order": 1}' -H 'content-type: application/json'
		curl -sS "$url" -d '{"order": 2}' -H 'content-type: application/json'
		run=$(kubectl create -f examples/quickstart/run/run.yaml -o name)
		kubectl wait --for=condition=Complete "$run" --timeout=120s`);
	await shell(`kubectl create namespace readme
		kubectl apply -n readme -f examples/quickstart/destination.yaml -f examples/quickstart/pipeline.yaml`);
	const said =
		await shell(`${documentedText("docs/orchestrators.md#a-token sh")}
		printf '\\n%s' "$TIDEMILL_API_TOKEN"`);
	return said.split("\n").at(-1)!;
}

async function environmentOf(
	name: string,
	bin: string,
	token: string,
): Promise<Record<string, string>> {
	const folder = join(scratch, name);
	const { PATH, PYTHONPATH } = await ownEnvironment(bin, join(folder, "env"));
	const homes = {
		DAGSTER_HOME: join(folder, "dagster"),
		PREFECT_HOME: join(folder, "prefect"),
	};
	for (const home of Object.values(homes)) await mkdir(home);
	return {
		...homes,
		PATH,
		PYTHONPATH: [PYTHONPATH, import.meta.dirname].join(delimiter),
		PYTHONDONTWRITEBYTECODE: "1",
		// A busy machine starts Prefect's server in more than its 20 seconds.
		PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS: "120",
		// pip then takes hatchling from here (pip's page "pip install", --no-build-isolation: 0 turns the isolation off).
		PIP_NO_BUILD_ISOLATION: "0",
		PIP_DISABLE_PIP_VERSION_CHECK: "1",
		ORCHESTRATOR_TOKEN: token,
		SCRATCH: folder,
		EXAMPLES: join(root, "examples", name),
		CLIENTS: join(root, "clients"),
		CONNECTIONS: JSON.stringify(
			documented("docs/orchestrators.md#airflow json").map(({ text }) => text),
		),
	};
}

function program(text: string): string {
	return `python - <<'END'\n${text}END\n`;
}

async function attempt(
	name: string,
	what: string,
	work: () => Promise<unknown>,
): Promise<void> {
	const startMs = performance.now();
	const failure = await withProgress(`${name}: ${what}`, work()).then(
		() => undefined,
		(error: Error) => error.message,
	);
	const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
	console.log(`${failure ? "✗" : "✓"} ${name}: ${what} (${seconds} s)`);
	if (failure === undefined) return;
	console.log(failure);
	failures.push(name);
}

/**
 * Runs commands in the repository, as in a shell that has sourced the local Tidemill's variables. Returns what they print.
 * Throws the end of what they say.
 */
function shell(
	commands: string,
	env: Record<string, string> = {},
): Promise<string> {
	// The file has a token for a person, who may do more.
	const before =
		'. "$0/env"; [ -z "$ORCHESTRATOR_TOKEN" ] || TIDEMILL_API_TOKEN=$ORCHESTRATOR_TOKEN';
	const child = spawn("sh", ["-ec", `${before}\n${commands}`, local.home], {
		cwd: root,
		env: { ...process.env, ...env },
		stdio: ["ignore", "pipe", "pipe"],
	});
	let [out, said] = ["", ""];
	child.stdout.on("data", (text) => {
		out += text;
	});
	for (const stream of [child.stdout, child.stderr])
		stream.on("data", (text) => {
			said += text;
		});
	return new Promise((resolve, reject) => {
		child.once("error", reject);
		child.once("close", (code) => {
			if (code === 0) resolve(out);
			else reject(new Error(said.slice(-20_000)));
		});
	});
}
