import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess } from "../../test/support/cli/in-process.ts";

const operations = "/apis/tidemill.dev/v1alpha1/namespaces/mine/operations";
const content = '{"body":1}\n';
const sha256 = createHash("sha256").update(content).digest("hex");
const invalid = [{ file: "a.ndjson", row: 2, message: "it has no time" }];

const succeeded = {
	phase: "Succeeded",
	completionTime: "2026-03-03T00:00:00Z",
	summary: "1 event added",
	import: { events: 1, duplicates: 0, invalidRows: 1, invalid },
};

/** @param there Whether the file was uploaded before. @param status What the bucket answers. */
async function importing({ there = false, status = 200 } = {}) {
	const specs: object[] = [];
	const asked: unknown[] = [];
	const puts: string[] = [];
	const server = await apiserver((line, body, headers) => {
		if (
			line === `POST ${operations}?fieldManager=tidemill&fieldValidation=Strict`
		) {
			const operation = JSON.parse(body);
			specs.push(operation.spec);
			return [201, { ...operation, status: succeeded }];
		}
		if (line === "POST /v1/uploads") {
			asked.push([headers["tidemill-account"], JSON.parse(body)]);
			const link = { url: `${server.url}/bucket/1`, headers: { "x-sse": "k" } };
			return [200, { items: [{ sha256, ...(there ? {} : link) }] }];
		}
		puts.push([line, headers["x-sse"], headers["content-length"], body].join());
		return [status, ""];
	});
	vi.stubEnv("TIDEMILL_API_URL", `${server.url}/v1/`);
	vi.stubEnv("TIDEMILL_API_TOKEN", "token");
	onTestFinished(() => {
		vi.unstubAllEnvs();
	});
	const path = join(server.folder, "a.ndjson");
	await writeFile(path, content);
	const run = (...options: string[]) =>
		inProcess("events", "import", "shop", ...options, ...server.args);
	return { specs, asked, puts, path, folder: server.folder, run };
}

test("an import uploads the files, names them by their content, and says which rows are left out", async () => {
	const { specs, asked, puts, path, run } = await importing();
	const answer = await run(path, "--date", "2026-03-01", "--skip-invalid-rows");
	expect(answer).toMatchObject({ exitCode: 0, stdout: "1 event added\n" });
	expect(answer.stderr).toContain("a.ndjson, row 2: it has no time\n");
	expect(asked).toEqual([["mine", { files: [{ sha256, bytes: 11 }] }]]);
	expect(puts).toEqual([`PUT /bucket/1,k,11,${content}`]);
	expect(specs).toEqual([
		{
			type: "Import",
			sourceRef: { name: "shop" },
			import: {
				files: [{ name: "a.ndjson", sha256 }],
				date: "2026-03-01",
				skipInvalidRows: true,
			},
		},
	]);
});

test("an import passes the time zone on, and refuses one that doesn't exist", async () => {
	const { specs, path, run } = await importing();
	expect(await run(path, "--time-zone", "Mars/Phobos")).toMatchObject({
		exitCode: 2,
		stderr: expect.stringContaining("must be an IANA time zone"),
	});
	expect(specs).toEqual([]);
	await run(path, "--time-zone", "Europe/Berlin");
	expect(specs).toMatchObject([{ import: { timeZone: "Europe/Berlin" } }]);
});

test("a file that is there already isn't uploaded again", async () => {
	const { specs, puts, path, run } = await importing({ there: true });
	expect(await run(path)).toMatchObject({ exitCode: 0 });
	expect(puts).toEqual([]);
	expect(specs).toHaveLength(1);
});

test("nothing is imported if the upload fails, and no message has the link", async () => {
	const { specs, path, run } = await importing({ status: 403 });
	const { exitCode, stderr } = await run(path);
	expect(exitCode).toBe(1);
	expect(stderr).toContain("uploading a.ndjson failed with status 403");
	expect(stderr).not.toContain("/bucket/");
	expect(specs).toEqual([]);
});

test.each([
	["of another format", "a.csv", "1", ["a.csv"], /must be named \.ndjson/],
	["that is empty", "b.ndjson", "", ["b.ndjson"], /has 0 bytes/],
	["that isn't there", "c.ndjson", "1", ["d.ndjson"], /can't be read/],
	[
		"with a date that is none",
		"e.ndjson",
		"1",
		["e.ndjson", "--date", "March"],
		/--date is "March"/,
	],
])(
	"a file %s is refused before anything is asked",
	async (_, name, text, [file, ...options], message) => {
		const { asked, folder, run } = await importing();
		await writeFile(join(folder, name), text);
		const { exitCode, stderr } = await run(join(folder, file!), ...options);
		expect(exitCode).not.toBe(0);
		expect(stderr).toMatch(message);
		expect(asked).toEqual([]);
	},
);

test("what a row and its body are is said in the Operation, and the two that exclude each other are refused", async () => {
	const { specs, path, run } = await importing();
	await run(path, "--rows", "bodies");
	await run(path, "--rows", "events", "--body", "text");
	expect(specs).toMatchObject([
		{ import: { rows: "Bodies" } },
		{ import: { rows: "Events", body: "Text" } },
	]);
	const { exitCode, stderr } = await run(
		...[path, "--rows", "bodies", "--body", "json"],
	);
	expect(exitCode).toBe(2);
	expect(stderr).toContain("--body is for --rows events");
	expect(specs).toHaveLength(2);
});
