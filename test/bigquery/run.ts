import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { adviceOn } from "./advice.ts";
import { type Report, summaryOf } from "./summary.ts";
import {
	check,
	environmentOf,
	isGoogle,
	keyEmail,
	newTrial,
	remove,
	requireNew,
	type Trial,
} from "./trial.ts";

/*
 * `make test-bigquery`: tests a real project of BigQuery, and says what that proved (docs/reference/bigquery-tests.md). This process owns the
 * dataset: however the tests end, it deletes it.
 */
const nothing = "NOTHING WAS TESTED, and nothing is proved";
const stopping = new AbortController();
let stoppedBy: NodeJS.Signals | undefined;
/** While they run. */
let tests: ChildProcess | undefined;

const trial = newTrial(process.env);
if (trial) process.exitCode = await carryOut(trial);
else {
	console.error(`${nothing}: there is no project of BigQuery to test.

  gcloud auth application-default login
  make test-bigquery TIDEMILL_BIGQUERY_PROJECT=my-project

docs/reference/bigquery-tests.md says what it needs and what else it can test.`);
	process.exitCode = 1;
}

/** Returns the exit code. */
async function carryOut(trial: Trial): Promise<number> {
	const { projectId, dataset, location, endpoint } = trial;
	const email = await keyEmail();
	console.log(
		`Project ${projectId} in ${location}, as ${email ?? "the account of the application default credentials"}.`,
	);
	if (!isGoogle(trial))
		console.log(`NOT GOOGLE: ${endpoint} answers in BigQuery's place.`);
	console.log(
		trial.isGiven
			? `This uses dataset ${dataset}, which must be empty, and deletes all tables in it at the end. If it can't, because it is killed, delete them yourself.\n`
			: `This makes dataset ${dataset} and deletes it at the end. If it can't, because it is killed, you can:\n\n  ${removal(trial)}\n`,
	);
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
		process.on(signal, () => stop(signal, trial));
	const folder = mkdtempSync(join(tmpdir(), "tidemill-bigquery-"));
	let exitCode = 1;
	let failure: unknown;
	// Until then, a dataset of this name is somebody else's.
	let isOurs = false;
	try {
		await requireNew(trial, stopping.signal);
		isOurs = true;
		await check(trial, folder, stopping.signal);
		exitCode = await test(trial, folder);
	} catch (error) {
		failure = error;
	} finally {
		rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
	}
	const isGone = !isOurs || (await removed(trial));
	if (stoppedBy) {
		console.error(`${nothing}: ${stoppedBy} stopped it.`);
		return 128 + constants.signals[stoppedBy];
	}
	// Last, where people look.
	if (failure) {
		const { reason, advice } = adviceOn(failure, trial, email);
		console.error(`\n${nothing}.\n\n${reason}\n\n${advice}`);
	}
	return isGone ? exitCode : 1;
}

/** Runs the tests and prints what they proved. Returns the exit code. */
async function test(trial: Trial, folder: string): Promise<number> {
	const root = join(import.meta.dirname, "../..");
	const file = join(folder, "report.json");
	const child = spawn(
		process.execPath,
		[
			join(root, "node_modules/vitest/vitest.mjs"),
			"run",
			"--project=data-plane",
			"test/data-plane/bigquery-real.all.test.ts",
		],
		{
			stdio: ["ignore", "inherit", "inherit"],
			// A group of its own: Ctrl-C is for this process, which ends the tests before it deletes their dataset.
			detached: true,
			env: {
				...process.env,
				...environmentOf(trial),
				TEST_REPORT: file,
				// These tests start no process of Tidemill's, so nothing need be bundled.
				TEST_PROGRAM: join(root, "cli/bin/tidemill.ts"),
				TMPDIR: folder,
			},
		},
	);
	tests = child;
	const ended = new Promise<void>((resolve) =>
		child.on("close", () => resolve()),
	);
	stopping.signal.addEventListener("abort", async () => {
		signalGroup(child, "SIGTERM");
		await Promise.race([ended, delay(5_000, undefined, { ref: false })]);
		signalGroup(child, "SIGKILL");
	});
	await ended;
	tests = undefined;
	if (stoppedBy) return 1;
	if (!existsSync(file)) {
		console.error(`${nothing}: the tests ended without a report.`);
		return 1;
	}
	const report = JSON.parse(readFileSync(file, "utf8")) as Report;
	const { text, isProved } = summaryOf(trial, report, new Date());
	console.log(`\n${text}`);
	return isProved ? 0 : 1;
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
	try {
		if (pid !== undefined) process.kill(-pid, signal);
	} catch {
		// It has ended.
	}
}

/** The first signal ends the tests and deletes the dataset; the second one kills the tests and leaves the dataset. */
function stop(signal: NodeJS.Signals, trial: Trial): void {
	if (stoppedBy) {
		// Nobody else would: they have a group of their own.
		if (tests) signalGroup(tests, "SIGKILL");
		console.error(`\nThe dataset may stay. Delete it:\n\n  ${removal(trial)}`);
		process.exit(128 + constants.signals[signal]);
	}
	stoppedBy = signal;
	console.error(
		`\n${signal}: the tests end, and dataset ${trial.dataset} is deleted. Once more leaves it.`,
	);
	stopping.abort();
}

/** Whether nothing is left of the trial. Says so if something is. */
async function removed(trial: Trial): Promise<boolean> {
	try {
		await remove(trial);
		return true;
	} catch (error) {
		const { message } = error as Error;
		console.error(
			`\nDataset ${trial.dataset} could not be deleted: ${message}\n\nIf it exists, delete it:\n\n  ${removal(trial)}`,
		);
		return false;
	}
}

function removal({ projectId, dataset, stagingBucket }: Trial): string {
	const objects = `gcloud storage rm --recursive gs://${stagingBucket}/tidemill/${projectId}.${dataset}.*`;
	return [
		`bq rm --recursive --force --dataset ${projectId}:${dataset}`,
		...(stagingBucket ? [objects] : []),
	].join("\n  ");
}
