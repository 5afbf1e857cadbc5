import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type Source, sourceKind } from "../../../crds/generated/types.ts";
import type { KeptRefusal } from "../../../packages/contracts/refused-request.ts";
import { inProcess as tidemill } from "../../support/cli/in-process.ts";
import {
	administrator,
	apiClient,
	newAccount,
	startApi,
	type TestApi,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import {
	withoutArchive,
	withoutReceive,
} from "../../support/fixtures/control-plane/without-nats.ts";

/* Who may see which requests a Source refused. NATS is a double here: test/data-plane/refused-requests.laptop.test.ts has a real one. */

const sourceKey = "5".repeat(32);
const path = "/v1/sources/shop/refusals";

let api: TestApi;
let victim: Awaited<ReturnType<typeof newAccount>>;
let attacker: Awaited<ReturnType<typeof newAccount>>;
const asked: string[][] = [];
const kept: KeptRefusal[] = [
	"2026-03-01T12:00:00.000Z",
	"2026-03-01T13:00:00.000Z",
].map((time, index) => ({
	sequence: index + 1,
	request: {
		version: 1,
		time,
		status: 400,
		code: "InvalidJSON",
		message: "Send JSON.",
		method: "POST",
		headerNames: ["host"],
		bodyHead: "the victim's own",
		violations: [{ path: "/the victim's own" }],
	},
}));

beforeAll(async () => {
	victim = await newAccount();
	attacker = await newAccount();
	api = await startApi(undefined, {
		receive: withoutReceive,
		archive: {
			...withoutArchive,
			readRefused: async (account, key) => {
				asked.push([account, key]);
				return kept;
			},
		},
	});
	const admin = administrator();
	for (const { account: namespace } of [victim, attacker]) {
		const source = await admin.create<Source>(sourceKind, {
			metadata: { name: "shop", namespace },
			spec: { type: "Webhook" },
		} as never);
		await admin.replace(
			sourceKind,
			{ ...source, status: { sourceKey } },
			{ subresource: "status" },
		);
	}
});

afterAll(() => api.api.close());

test("a viewer sees refusals without what bodies hold, newest first", async () => {
	const viewer = apiClient(api.url, victim.tokens.viewer);
	const { status, body } = await viewer("GET", path);
	expect(status).toBe(200);
	expect(body.items.map((item) => "time" in item && item.time)).toEqual([
		"2026-03-01T13:00:00.000Z",
		"2026-03-01T12:00:00.000Z",
	]);
	expect(JSON.stringify(body)).not.toContain("own");
	const withBody = await viewer("GET", `${path}?body=true`);
	expect(withBody).toMatchObject({
		status: 403,
		body: { detail: expect.stringContaining("sources/bodies") },
	});
});

test("an editor sees bodies, if they are asked for", async () => {
	const editor = apiClient(api.url, victim.tokens.editor);
	const plain = await editor("GET", path);
	expect(JSON.stringify(plain.body)).not.toContain("own");
	const { body } = await editor("GET", `${path}?body=true&limit=1`);
	expect(body.items).toMatchObject([{ bodyHead: "the victim's own" }]);
	const later = await editor("GET", `${path}?from=2026-03-01T12:30:00Z`);
	expect(later.body.items).toHaveLength(1);
});

test("the command line lists them", async () => {
	vi.stubEnv("TIDEMILL_API_URL", `${api.url}/v1`);
	vi.stubEnv("TIDEMILL_API_TOKEN", victim.tokens.editor);
	onTestFinished(() => void vi.unstubAllEnvs());
	const { stdout } = await tidemill("sources", "refusals", "shop", "--body");
	expect(stdout).toMatch(
		/^TIME .*\n2026-03-01T13:.* InvalidJSON .*the victim's own\n2026-03-01T12:.*\n\nInvalidJSON: Send JSON\.\n$/,
	);
});

test.each(["runner", "nobody"] as const)("a %s sees none", async (who) => {
	const client = apiClient(api.url, victim.tokens[who]);
	expect((await client("GET", path)).status).toBe(403);
});

test("who names another account is refused, and a Source's refusals are read in the caller's own account", async () => {
	const editor = apiClient(api.url, attacker.tokens.editor);
	const account = { "tidemill-account": victim.account };
	expect((await editor("GET", path, undefined, account)).status).toBe(403);
	asked.length = 0;
	await editor("GET", path);
	expect(asked).toEqual([[attacker.account, sourceKey]]);
});

test.each([
	["from=yesterday", "from"],
	["limit=0", "limit"],
	["body=yes", "body"],
])("%s is refused by name", async (query, name) => {
	const editor = apiClient(api.url, victim.tokens.editor);
	const answer = await editor("GET", `${path}?${query}`);
	expect(answer).toMatchObject({
		status: 400,
		body: { details: [{ path: name }] },
	});
});
