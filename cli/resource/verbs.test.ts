import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess } from "../../test/support/cli/in-process.ts";

/* What each command asks the apiserver, and what it prints. cli-resources.all.test.ts has the same on a real apiserver for some kinds. */

const group = "/apis/tidemill.dev/v1alpha1/namespaces/mine";
const kinds: Record<string, string> = {
	sources: "Source",
	destinations: "Destination",
	pipelines: "Pipeline",
	runs: "Run",
	trackingplans: "TrackingPlan",
	operations: "Operation",
};

test.each([
	[["sources", "describe", "x"], "GET sources/x", /^Name: +x\n/],
	[["sources", "delete", "x"], "DELETE sources/x", "source/x deleted\n"],
	[["sources", "suspend", "x"], "PATCH sources/x", "source/x suspended\n"],
	[["sources", "resume", "x"], "PATCH sources/x", "source/x resumed\n"],
	[["destinations", "list", "-o=name"], "GET destinations", "destination/x\n"],
	[["destinations", "get", "x", "-o=name"], "GET destinations/x", /x\n$/],
	[["destinations", "describe", "x"], "GET destinations/x", /^Name: +x\n/],
	[["destinations", "delete", "x"], "DELETE destinations/x", / deleted\n$/],
	[["pipelines", "list", "-o=name"], "GET pipelines", "pipeline/x\n"],
	[["pipelines", "describe", "x"], "GET pipelines/x", /^Name: +x\n/],
	[["pipelines", "resume", "x"], "PATCH pipelines/x", "pipeline/x resumed\n"],
	[["runs", "get", "x", "-o=name"], "GET runs/x", "run/x\n"],
	[["runs", "describe", "x"], "GET runs/x", /^Name: +x\n/],
	[["runs", "delete", "x"], "DELETE runs/x", "run/x deleted\n"],
	[["runs", "create", "x"], "POST runs", /^x-\w+\n$/],
	[["tracking-plans", "get", "x", "-o=name"], "GET trackingplans/x", /x\n$/],
	[["tracking-plans", "describe", "x"], "GET trackingplans/x", /^Name: +x\n/],
	[["tracking-plans", "delete", "x"], "DELETE trackingplans/x", / deleted\n$/],
	[
		["tracking-plans", "create", "-f", "TrackingPlan"],
		"POST trackingplans",
		"trackingplan/x created\n",
	],
	[["operations", "get", "x", "-o=name"], "GET operations/x", "operation/x\n"],
	[["operations", "describe", "x"], "GET operations/x", /^Name: +x\n/],
	[["operations", "delete", "x"], "DELETE operations/x", / deleted\n$/],
	[
		["operations", "create", "-f", "Operation"],
		"POST operations",
		"operation/x created\n",
	],
	[["operations", "logs", "x"], "GET operations/x", "kept\n"],
])("%j asks for %s", async (words, request, printed) => {
	const { asked, folder, args } = await apiserver((line, body) => {
		const [method, path = ""] = line.split(/[ ?]/);
		const [plural = "", name] = path.slice(group.length + 1).split("/");
		const kind = kinds[plural];
		if (!path.startsWith(group) || !kind) return [200, { items: [] }];
		if (method === "POST") return [201, { kind, ...JSON.parse(body) }];
		const object = objectOf(kind);
		return [200, name ? object : { metadata: {}, items: [object] }];
	});
	for (const kind of ["TrackingPlan", "Operation"])
		await writeFile(join(folder, kind), JSON.stringify(objectOf(kind)));
	const given = words.map((word) =>
		word in manifests ? join(folder, word) : word,
	);
	const { stdout, exitCode } = await inProcess(...given, ...args);
	expect(exitCode).toBe(0);
	const [method, path] = request.split(" ");
	expect(asked.map((line) => line.split("?")[0])).toContain(
		`${method} ${group}/${path}`,
	);
	if (typeof printed === "string") expect(stdout).toBe(printed);
	else expect(stdout).toMatch(printed);
});

const manifests = { TrackingPlan: true, Operation: true };

function objectOf(kind: string) {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind,
		metadata: { name: "x", namespace: "mine", uid: "1" },
		spec: {},
		status: { completionTime: "2026-03-01T00:00:00Z", log: "kept\n" },
	};
}
