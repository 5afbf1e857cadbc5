import { afterAll, beforeAll, expect, test } from "vitest";
import type { Operation } from "../../api/http/endpoint.ts";
import { operations } from "../../api/endpoints.ts";
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

test.each(operations.map((operation) => [operation.id, operation] as const))(
	"%s answers as the document says who may, who may not, and who is unknown",
	async (_, operation) => {
		const name = await prepare(operation);
		const path = operation.path
			.replace("{name}", name)
			.replace("{event_id}", eventID);
		const body = bodyOf(operation);

		const unknown = await ask(api.url + path, { method: operation.method });
		expect(unknown.status).toBe(401);
		expect(unknown.headers.get("www-authenticate")).toContain("Bearer");
		expectContract(operation, unknown);

		const refused = await nobody(operation.method, path, body);
		expect(refused.status).toBe(403);
		expectContract(operation, refused);

		const { status, ...answered } = await editor(operation.method, path, body);
		// There is no Pod, no URL, no archive and no event: api-run-logs.test.ts reads a log, and api-waits.test.ts sends an event.
		const hasNone = path.includes(eventID) || operation.id.endsWith("Logs");
		const expected = hasNone
			? ["404"]
			: ["sendTestEvent", "tailEvents", "listExportFiles"].includes(
						operation.id,
					)
				? ["409"]
				: operation.id === "createUploads"
					? ["503"]
					: Object.keys(operation.answers);
		expect(expected).toContain(String(status));
		expectContract(operation, { status, ...answered });
	},
);

test.each(
	operations
		.filter(({ path }) => path.includes("{name}"))
		.map((operation) => [operation.id, operation] as const),
)("%s is 404 for what isn't there", async (_, operation) => {
	const path = operation.path
		.replace("{name}", "not-there")
		.replace("{event_id}", eventID);
	const answer = await editor(operation.method, path, bodyOf(operation));
	expect(answer.status).toBe(404);
	expectContract(operation, answer);
});

function expectContract(operation: Operation, answer: ApiAnswer): void {
	for (const header of [
		"x-request-id",
		"x-ratelimit-limit",
		"x-ratelimit-remaining",
		"x-ratelimit-reset",
	])
		expect(answer.headers.get(header), header).toBeTruthy();
	expect(misfits(operation, answer)).toEqual([]);
}

/** Makes what the operation is about, and returns its name. */
async function prepare({ id, path }: Operation): Promise<string> {
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

function bodyOf({ id, method, path }: Operation): unknown {
	if (method === "PATCH") return { displayName: "Changed" };
	if (!/^(create|replace)/.test(id)) return undefined;
	if (id === "createToken") return { name: "new", scope: "run" };
	if (id === "createUploads")
		return { files: [{ sha256: "0".repeat(64), bytes: 1 }] };
	return apiResources.find(({ collection }) =>
		path.startsWith(`/v1/${collection}`),
	)!.example;
}
