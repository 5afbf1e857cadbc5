// In make test: test/control-plane/api.laptop.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import { endpoints } from "../../api/endpoints.ts";
import type { Endpoint } from "../../api/http/endpoint.ts";
import { apiResources } from "../../api/resources/api-resource.ts";
import {
	type ApiAnswer,
	type ApiClient,
	apiClient,
	ask,
	newAccount,
	startApi,
	type TestApi,
	tokenOf,
} from "../support/fixtures/control-plane/api-fixture.ts";
import { answerValidator } from "../support/fixtures/control-plane/openapi-answers.ts";

let api: TestApi;
let editor: ApiClient;
let nobody: ApiClient;
let misfits: Awaited<ReturnType<typeof answerValidator>>;

beforeAll(async () => {
	api = await startApi();
	const { account, tokens } = await newAccount();
	const all = ["tidemill-editor", "tidemill-log-reader", "tidemill-admin"];
	editor = apiClient(api.url, await tokenOf(account, "everything", ...all));
	nobody = apiClient(api.url, tokens.nobody);
	misfits = await answerValidator(api.url);
});

afterAll(() => api.api.close());

/** Of no event. */
const eventID = "019cb0c2-7b3c-7f4e-9a51-0d6b2a4f8c11";

test.each(endpoints.map((endpoint) => [endpoint.id, endpoint] as const))(
	"%s answers as the document says who may, who may not, and who is unknown",
	async (_, endpoint) => {
		const name = await prepare(endpoint);
		const path = endpoint.path
			.replace("{name}", name)
			.replace("{event_id}", eventID);
		const sample = bodyOf(endpoint);
		const body =
			endpoint.method === "PUT" ? { ...(sample as object), name } : sample;

		const unknown = await ask(api.url + path, { method: endpoint.method });
		expect(unknown.status).toBe(401);
		expect(unknown.headers.get("www-authenticate")).toContain("Bearer");
		expectContract(endpoint, unknown);

		const refused = await nobody(endpoint.method, path, body);
		expect(refused.status).toBe(403);
		expectContract(endpoint, refused);

		// It goes on without an end: api-changes-stream.all.test.ts follows it.
		if (endpoint.id === "followChanges") return;
		const { status, ...answered } = await editor(endpoint.method, path, body);
		// There is no Pod, no URL, no archive and no event: api-run-logs.all.test.ts reads a log, and api-waits.all.test.ts sends an event.
		const hasNone = path.includes(eventID) || endpoint.id.endsWith("Logs");
		const expected = hasNone
			? ["404"]
			: ["sendTestEvent", "tailEvents", "listExportFiles"].includes(endpoint.id)
				? ["409"]
				: endpoint.id === "createUploads"
					? ["503"]
					: Object.keys(endpoint.answers);
		expect(expected).toContain(String(status));
		expectContract(endpoint, { status, ...answered });
	},
);

test.each(
	endpoints
		.filter(({ path }) => path.includes("{name}"))
		.map((endpoint) => [endpoint.id, endpoint] as const),
)("%s is 404 for what isn't there", async (_, endpoint) => {
	const path = endpoint.path
		.replace("{name}", "not-there")
		.replace("{event_id}", eventID);
	const answer = await editor(endpoint.method, path, bodyOf(endpoint));
	expect(answer.status).toBe(404);
	expectContract(endpoint, answer);
});

function expectContract(endpoint: Endpoint, answer: ApiAnswer): void {
	for (const header of [
		"x-request-id",
		"x-ratelimit-limit",
		"x-ratelimit-remaining",
		"x-ratelimit-reset",
	])
		expect(answer.headers.get(header), header).toBeTruthy();
	expect(misfits(endpoint, answer)).toEqual([]);
}

/** Makes what the endpoint is about, and returns its name. */
async function prepare({ id, path }: Endpoint): Promise<string> {
	if (!path.includes("{name}")) return "";
	const name = `for-${id.toLowerCase()}`;
	if (path.startsWith("/v1/tokens")) {
		const body = { name, scope: "read" };
		expect((await editor("POST", "/v1/tokens", body)).status).toBe(201);
		return name;
	}
	const resource = apiResources.find(({ collection }) =>
		path.startsWith(`/v1/${collection}`),
	);
	const { collection, example } =
		resource ??
		apiResources.find(({ collection }) => collection === "pipelines")!;
	const made = await editor("POST", `/v1/${collection}`, { ...example, name });
	expect(made.status).toBe(201);
	if (resource) return name;
	const run = await editor("POST", `/v1/pipelines/${name}/run`);
	return run.body.name;
}

function bodyOf({ id, method, path }: Endpoint): unknown {
	if (method === "PATCH") return { displayName: "Changed" };
	if (!/^(create|replace)/.test(id)) return undefined;
	if (id === "createToken") return { name: "new", scope: "run" };
	if (id === "createUploads")
		return { files: [{ sha256: "0".repeat(64), bytes: 1 }] };
	return apiResources.find(({ collection }) =>
		path.startsWith(`/v1/${collection}`),
	)!.example;
}
