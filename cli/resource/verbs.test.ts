import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
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
	[
		["sources", "edit", "x", "--set=displayName=X"],
		"PATCH sources/x",
		"source/x changed\n",
	],
	[["sources", "delete", "x"], "DELETE sources/x", "source/x deleted\n"],
	[["sources", "suspend", "x"], "PATCH sources/x", "source/x suspended\n"],
	[["sources", "resume", "x"], "PATCH sources/x", "source/x resumed\n"],
	[["destinations", "list", "-o=name"], "GET destinations", "destination/x\n"],
	[
		["destinations", "edit", "x", "--set=displayName=X"],
		"PATCH destinations/x",
		/changed\n$/,
	],
	[["destinations", "delete", "x"], "DELETE destinations/x", / deleted\n$/],
	[["pipelines", "list", "-o=name"], "GET pipelines", "pipeline/x\n"],
	[
		["pipelines", "edit", "x", "--set=table.name=y"],
		"PATCH pipelines/x",
		/changed\n$/,
	],
	[["pipelines", "resume", "x"], "PATCH pipelines/x", "pipeline/x resumed\n"],
	[["runs", "edit", "x", "--set=cancel=true"], "PATCH runs/x", /changed\n$/],
	[["runs", "delete", "x"], "DELETE runs/x", "run/x deleted\n"],
	[["runs", "create", "x"], "POST runs", /^x-\w+\n$/],
	[
		["tracking-plans", "edit", "x", "--set=onUnplannedEvent=Allow"],
		"PATCH trackingplans/x",
		/changed\n$/,
	],
	[["tracking-plans", "delete", "x"], "DELETE trackingplans/x", / deleted\n$/],
	[
		["tracking-plans", "create", "-f", "TrackingPlan"],
		"POST trackingplans",
		"trackingplan/x created\n",
	],
	[
		["operations", "edit", "x", "--set=cancel=true"],
		"PATCH operations/x",
		/changed\n$/,
	],
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
		if (line.includes("fieldSelector")) return [200, { items: [] }];
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

test("delete refuses what others use and names them, unless --force", async () => {
	const deleted: string[] = [];
	const { args } = await apiserver((line) => {
		const [method, path = ""] = line.split(" ");
		if (method === "DELETE") deleted.push(path);
		if (path.includes("fieldSelector=spec.sourceRef.name%3Dx"))
			return [200, { items: [objectOf("Pipeline")] }];
		return [
			200,
			path.endsWith("/sources/x") ? objectOf("Source") : { items: [] },
		];
	});
	const refused = await inProcess("sources", "delete", "x", ...args);
	expect(refused).toMatchObject({
		exitCode: 1,
		stderr: expect.stringContaining(
			'source/x is used by the pipelines "x". Delete or change them first, or repeat the command with --force.',
		),
	});
	expect(deleted).toEqual([]);
	const forced = await inProcess("sources", "delete", "x", "--force", ...args);
	expect(forced).toMatchObject({ exitCode: 0, stdout: "source/x deleted\n" });
	expect(deleted).toHaveLength(1);
});

test("delete asks in a terminal, unless --yes", async () => {
	const { asked, args } = await apiserver((line) => [
		200,
		line.includes("/operations/x") ? objectOf("Operation") : { items: [] },
	]);
	const kept = await answering("n", "operations", "delete", "x", ...args);
	expect(kept.stderr).toContain("Nothing is deleted.\n");
	expect(asked.filter((line) => line.startsWith("DELETE"))).toEqual([]);
	const gone = await answering("y", "operations", "delete", "x", ...args);
	expect(gone.stdout).toBe("operation/x deleted\n");
	const yes = ["operations", "delete", "x", "--yes", ...args];
	expect((await answering("n", ...yes)).stdout).toContain("deleted");
});

/** Carries out a command whose terminal answers so. */
async function answering(answer: string, ...command: string[]) {
	const before = Object.getOwnPropertyDescriptor(process, "stdin")!;
	const stdin = Object.assign(new PassThrough(), { isTTY: true });
	stdin.write(`${answer}\n`);
	Object.defineProperty(process, "stdin", { ...before, get: () => stdin });
	try {
		return await inProcess(...command);
	} finally {
		Object.defineProperty(process, "stdin", before);
	}
}
