import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import { rfc3339 } from "../../../packages/kube/resource.ts";
import { executedFiles } from "./executed-files.ts";

const thread = "test/support/executed-files/echo-thread.ts";

test("a file counts as executed if one of its functions is called meanwhile, in this thread or in a worker", async () => {
	rfc3339(0);
	const worker = new Worker(join(import.meta.dirname, "echo-thread.ts"));
	onTestFinished(async () => void (await worker.terminate()));
	const echoed = () => {
		worker.postMessage("x");
		return once(worker, "message");
	};
	await echoed();
	expect(await executedFiles(async () => undefined)).not.toContain(thread);
	const executed = await executedFiles(async () => {
		utcDate(0);
		await echoed();
	});
	expect(executed).toContain("packages/contracts/utc-date.ts");
	expect(executed).toContain(thread);
	expect(executed).not.toContain("packages/kube/resource.ts");
});
