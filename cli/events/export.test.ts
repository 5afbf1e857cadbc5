import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { apiserver, refusal } from "../../test/support/cli/apiserver.ts";
import { inProcess } from "../../test/support/cli/in-process.ts";
import { ndjsonLine } from "./ndjson.ts";

const firstName = "2026-03-01-0a.parquet";
const secondName = "2026-03-02-0b.parquet";
const operations = "/apis/tidemill.dev/v1alpha1/namespaces/mine/operations";

const succeeded = {
	phase: "Succeeded",
	completionTime: "2026-03-03T00:00:00Z",
	summary: "2 events in 2 files",
};

/**
 * An Export that has succeeded, and two files of its, on pages of one. `files` says what the links lead to, and `names` what
 * the API calls them.
 */
async function exported({
	files = { a: "first", b: "second" } as Record<string, string>,
	names = [firstName, secondName],
	mayReadBodies = true,
} = {}) {
	const specs: object[] = [];
	const accounts = new Set<unknown>();
	const server = await apiserver((line, body, headers) => {
		const path = line.split(" ")[1]!;
		if (
			line === `POST ${operations}?fieldManager=tidemill&fieldValidation=Strict`
		) {
			const operation = JSON.parse(body);
			specs.push(operation.spec);
			return [201, { ...operation, status: succeeded }];
		}
		if (path.startsWith("/v1/")) accounts.add(headers["tidemill-account"]);
		if (path === "/v1/sources/shop/refusals?body=true&limit=1")
			return mayReadBodies
				? [200, { items: [] }]
				: [403, { code: "Forbidden", detail: "This needs the right." }];
		const page = /^\/v1\/operations\/shop-e\w+\/files(.*)$/.exec(path);
		if (page?.[1] === "")
			return [200, { items: [file(names[0]!, "a", 5)], cursor: "2026-03-01" }];
		if (page?.[1] === "?cursor=2026-03-01")
			return [200, { items: [file(names[1]!, "b", 6)] }];
		const content = files[path.replace("/bucket/", "")];
		return content === undefined
			? refusal(404, "NotFound", path)
			: [200, content];
	});
	const file = (name: string, at: string, bytes: number) => ({
		...{ name, bytes },
		url: `${server.url}/bucket/${at}`,
	});
	vi.stubEnv("TIDEMILL_API_URL", `${server.url}/v1/`);
	vi.stubEnv("TIDEMILL_API_TOKEN", "token");
	onTestFinished(() => {
		vi.unstubAllEnvs();
	});
	const output = join(server.folder, "files");
	const run = (...options: string[]) => {
		const into = ["--output", output, ...options, ...server.args];
		return inProcess("events", "export", "shop", ...into);
	};
	return { ...server, specs, accounts, files, output, run };
}

test("an export of chosen dates downloads the files of all pages, and a repeated one what is missing", async () => {
	const { specs, accounts, asked, files, output, run } = await exported();
	const dates = ["--from", "2026-03-01", "--to", "2026-03-02"];
	const paths = [firstName, secondName].map((name) => join(output, name));
	for (const _ of ["first", "repeated"]) {
		const answer = await run("--format", "parquet", ...dates);
		expect(answer).toMatchObject({ exitCode: 0 });
		expect(answer.stdout).toBe(`${paths.join("\n")}\n`);
		expect(answer.stderr).toContain("2 events in 2 files\n");
		delete files.a;
	}
	expect(
		await Promise.all(paths.map((path) => readFile(path, "utf8"))),
	).toEqual(["first", "second"]);
	expect(asked.filter((line) => line.includes("/bucket/"))).toHaveLength(2);
	// The namespace of the kubeconfig, where the Export is.
	expect([...accounts]).toEqual(["mine"]);
	expect(specs[0]).toEqual({
		type: "Export",
		sourceRef: { name: "shop" },
		dates: { start: "2026-03-01", end: "2026-03-02" },
	});
});

test.each([
	["is cut short", { files: { a: "firs" } }, "4 bytes instead of 5"],
	["is gone", { files: {} }, "failed with status 404"],
	["would be elsewhere", { names: ["../a.parquet"] }, '"../a.parquet"'],
])(
	"a file that %s ends the export and leaves nothing",
	async (_, part, message) => {
		const { output, run } = await exported(part);
		const { exitCode, stderr } = await run("--format", "parquet");
		expect([exitCode, stderr]).toEqual([1, expect.stringContaining(message)]);
		expect(await readdir(output)).toEqual([]);
	},
);

test("a folder that has a date's events in other files is left as it is, and the error names the date", async () => {
	const { files, output, run } = await exported({ files: { a: "first" } });
	await mkdir(output);
	const others = ["2026-03-02-0c.ndjson", "2026-03-03-0d.parquet"];
	for (const name of [...others, "note.txt"])
		await writeFile(join(output, name), "");
	const { exitCode, stderr } = await run("--format", "parquet");
	expect(exitCode).toBe(1);
	expect(stderr).toContain(`${join(output, others[0]!)} is of another export`);
	expect(stderr).toContain(`Remove the files ${join(output, "2026-03-02-*")}`);
	expect(await readdir(output)).toEqual([firstName, ...others, "note.txt"]);
	await rm(join(output, others[0]!));
	files.b = "second";
	expect(await run("--format", "parquet")).toMatchObject({ exitCode: 0 });
});

test.each([
	["can't be reached", (url: string) => url.replace(/:\d+/, ":1")],
	["ends in the middle", (url: string) => `${url}/broken`],
])("a bucket that %s is told in words, without the link", async (_, other) => {
	const fetched = globalThis.fetch;
	vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
		const isLink = String(url).includes("/bucket/");
		const to = isLink ? other(String(url)) : url;
		if (!String(to).endsWith("/broken")) return fetched(to, init);
		const body = new ReadableStream({
			start: (controller) =>
				controller.error(
					new TypeError("terminated", {
						cause: new Error("other side closed"),
					}),
				),
		});
		return Promise.resolve(new Response(body));
	});
	onTestFinished(() => {
		vi.unstubAllGlobals();
	});
	const { output, run } = await exported();
	const { exitCode, stderr } = await run();
	expect(exitCode).toBe(1);
	expect(stderr).toContain(`downloading ${firstName} failed: `);
	expect(stderr).toContain("leads to the bucket's endpoint");
	expect(stderr).not.toContain("/bucket/a");
	expect(await readdir(output)).toEqual([]);
});

test("without the REST API no Operation is created", async () => {
	const { asked, run } = await exported();
	vi.stubEnv("TIDEMILL_API_TOKEN", "");
	const { exitCode, stderr } = await run();
	expect(exitCode).toBe(1);
	expect(stderr).toContain("TIDEMILL_API_TOKEN");
	expect(asked.filter((request) => request.includes("operations"))).toEqual([]);
});

test("a folder with bodies in the other way is left as it is, and the message says which way", async () => {
	const { output, run } = await exported();
	await mkdir(output);
	const path = join(output, "2026-03-01-0a.ndjson");
	await writeFile(path, ndjsonLine(["e", "t", "[1]", null], "text"));
	const { exitCode, stderr } = await run();
	expect(exitCode).toBe(1);
	expect(stderr).toContain(`${path} is there already`);
	expect(stderr).toContain("--body text");
	const both = ["--format", "parquet", "--body", "json"];
	expect(await run(...both)).toMatchObject({
		exitCode: 2,
		stderr: expect.stringContaining("in a Parquet file a body is text"),
	});
});

test("who may not read bodies makes no Operation, and is told the command that helps", async () => {
	const { run, specs } = await exported({ mayReadBodies: false });
	const { exitCode, stderr } = await run();
	expect(stderr).toContain("This needs the right. (Forbidden)");
	expect(stderr).toContain("--clusterrole=tidemill-editor");
	expect([exitCode, specs]).toEqual([1, []]);
});
