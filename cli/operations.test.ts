import { expect, test } from "vitest";
import { apiserver } from "../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../test/support/cli/in-process.ts";

async function cancel(status: object) {
	const operation = {
		kind: "Operation",
		metadata: { name: "o", uid: "1" },
		status,
	};
	const { asked, args } = await apiserver(() => [200, operation]);
	const answer = await tidemill("operations", "cancel", "o", ...args);
	const patches = asked.filter((line) => line.startsWith("PATCH"));
	return { ...answer, patches: patches.length };
}

test("an operation is cancelled, and the command says so", async () => {
	expect(await cancel({ phase: "Running" })).toMatchObject({
		exitCode: 0,
		stdout: "operation/o cancelled\n",
		patches: 1,
	});
});

test("an operation that has ended isn't cancelled", async () => {
	const ended = {
		phase: "Succeeded",
		completionTime: "2026-03-01T12:00:00Z",
	};
	const { exitCode, stderr, patches } = await cancel(ended);
	expect(stderr).toContain('the operation "o" has already ended: Succeeded.\n');
	expect([exitCode, patches]).toEqual([1, 0]);
});
