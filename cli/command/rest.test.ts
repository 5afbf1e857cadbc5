import { afterEach, expect, test, vi } from "vitest";
import { apiserver, refusal } from "../../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../../test/support/cli/in-process.ts";

afterEach(() => {
	vi.unstubAllEnvs();
});

function events(url: string, token = "secret") {
	vi.stubEnv("TIDEMILL_API_URL", url);
	vi.stubEnv("TIDEMILL_API_TOKEN", token);
	return tidemill("events", "list", "shop");
}

test.each(["", "/", "/v1", "/v1/", "/prefix", "/prefix/v1"])(
	"the address of the REST API may end in %j",
	async (end) => {
		const { url, asked } = await apiserver(() => [200, { items: [] }]);
		expect(await events(url + end)).toMatchObject({ exitCode: 0, stdout: "" });
		const prefix = end.startsWith("/prefix") ? "/prefix" : "";
		expect(asked).toEqual([`GET ${prefix}/v1/sources/shop/events?limit=20`]);
	},
);

test.each([
	["tidemill.example.com", "is not an address"],
	["localhost:8080/v1", "must begin with https:// or http://"],
	["https://", "is not an address"],
	[
		"https://user:hunter2@tidemill.example.com/v1",
		"must have no user and no password",
	],
	["https://tidemill.example.com/v1?a=b", "must have no query"],
])(
	"TIDEMILL_API_URL=%s is refused with what is right",
	async (url, mistake) => {
		const { exitCode, stderr } = await events(url);
		expect(stderr).toContain(`TIDEMILL_API_URL ${mistake}`);
		expect(stderr).toContain("such as https://tidemill.example.com/v1");
		expect(stderr).not.toContain("hunter2");
		expect(exitCode).toBe(2);
	},
);

test("a token with a line break in it is refused, and not shown", async () => {
	const { exitCode, stderr } = await events("http://127.0.0.1:1", "sec\nret");
	expect(stderr).toContain("TIDEMILL_API_TOKEN has characters");
	expect(stderr).not.toContain("ret");
	expect(exitCode).toBe(2);
});

test("a server that isn't the REST API is named", async () => {
	const { url } = await apiserver(() => [200, "<html>"]);
	vi.spyOn(globalThis, "fetch").mockResolvedValueOnce(
		new Response("<html>", { headers: { "content-type": "text/html" } }),
	);
	const page = await events(url);
	vi.restoreAllMocks();
	expect(page.stderr).toContain("isn't Tidemill's REST API");
	expect(page.exitCode).toBe(1);
	const other = await apiserver(() => [404, "not here"]);
	expect((await events(other.url)).stderr).toContain(
		"answered 404 without the REST API's own words",
	);
	expect((await events("http://127.0.0.1:1")).stderr).toContain(
		"127.0.0.1:1 is unreachable",
	);
});

test("a source that isn't there brings to mind the one that is", async () => {
	const { url } = await apiserver((request) =>
		request.startsWith("GET /v1/sources?")
			? [200, { items: [{ name: "shop-eu" }, { name: "github" }] }]
			: [404, { code: "NotFound", detail: 'There is no source "shop".' }],
	);
	expect((await events(url)).stderr).toContain(
		'There is no source "shop". (NotFound) Did you mean "shop-eu"?',
	);
});

test("a refusal by the cluster names fields, and patterns in words", async () => {
	const { args } = await apiserver(() => [
		422,
		{
			...(refusal(422, "Invalid", "raw ^regex$")[1] as object),
			details: {
				name: "p",
				kind: "Pipeline",
				causes: [
					{
						field: "spec.schedule.updateTime",
						message:
							"Invalid value: \"6:30\": spec.schedule.updateTime in body should match '^([01]\\d|2[0-3]):[0-5]\\d$'",
					},
				],
			},
		},
	]);
	const { stderr, exitCode } = await tidemill(
		...["pipelines", "create", "p", "--source=a", "--destination=b", ...args],
	);
	expect(stderr).toContain(
		'tidemill pipelines create: the Pipeline "p" is invalid:\n  schedule.updateTime: must be a time of day such as 06:30\n',
	);
	expect(exitCode).toBe(1);
});

test.each([
	[401, 'export TIDEMILL_API_TOKEN="$(tidemill tokens create '],
	[
		403,
		"kubectl create rolebinding reader-editor --clusterrole=tidemill-editor --serviceaccount=mine:reader -n mine",
	],
])(
	"a refusal with %d ends with the command that helps",
	async (status, command) => {
		const { url } = await apiserver(() => [
			status,
			{ detail: "No.", code: "C" },
		]);
		const claims = { sub: "system:serviceaccount:mine:reader" };
		const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
		const { stderr } = await events(url, `h.${payload}.s`);
		expect(stderr).toContain("No. (C). ");
		expect(stderr).toContain(command);
	},
);
