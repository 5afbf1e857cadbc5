import { expect, test } from "vitest";
import { apiserver } from "../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../test/support/cli/in-process.ts";

/** A namespace with the operator's Lease. */
function leaseThatSays(restore: string | undefined) {
	const changes: unknown[] = [];
	const server = apiserver((request, body) => {
		const annotations = restore && { "tidemill.dev/restore": restore };
		const metadata = { name: "tidemill-operator", annotations };
		if (request.startsWith("GET")) return [200, { items: [{ metadata }] }];
		changes.push([request.replace(/[?].*/, ""), JSON.parse(body)]);
		return [200, { metadata }];
	});
	return { changes, server };
}

test("a person's word that a restore is complete gets onto the Lease of the operator that waits for it", async () => {
	const { changes, server } = leaseThatSays("awaited");
	const { args } = await server;
	const { exitCode, stdout } = await tidemill("restore", "--complete", ...args);
	expect([exitCode, stdout]).toEqual([
		0,
		expect.stringContaining("tidemill-operator"),
	]);
	expect(changes).toEqual([
		[
			"PATCH /apis/coordination.k8s.io/v1/namespaces/mine/leases/tidemill-operator",
			{ metadata: { annotations: { "tidemill.dev/restore": "complete" } } },
		],
	]);
});

test.each([[undefined], ["complete"]])(
	"where no operator waits, the word (%s) says nothing",
	async (said) => {
		const { changes, server } = leaseThatSays(said);
		const { args } = await server;
		const { exitCode, stderr } = await tidemill(
			"restore",
			"--complete",
			...args,
		);
		expect([exitCode, changes]).toEqual([1, []]);
		expect(stderr).toContain("waits for a restore");
	},
);
