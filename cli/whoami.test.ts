import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { apiserver } from "../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../test/support/cli/in-process.ts";

afterEach(() => {
	vi.unstubAllEnvs();
});

/** A token of a service account of the namespace `default`, as far as anybody but the apiserver can tell. */
const tokenOf = (name: string, signature = "s") =>
	`h.${Buffer.from(JSON.stringify({ sub: `system:serviceaccount:default:${name}` })).toString("base64url")}.${signature}`;

/** A local Tidemill whose kubeconfig is an administrator's, and a shell that has read its file, with this token in the end. */
async function local(token: string, { console = true } = {}) {
	const tokens: (string | undefined)[] = [];
	const server = await apiserver((request, body, { authorization }) => {
		if (request.includes("/console/session")) {
			tokens.push(authorization);
			const rights = { sources: ["list"], runs: [] };
			return console
				? [200, { user: "ro", namespace: "mine", rights }]
				: [404, { code: "NotFound", detail: "none" }];
		}
		if (request.includes("selfsubjectreviews"))
			return [201, { status: { userInfo: { username: "admin" } } }];
		const { spec } = JSON.parse(body);
		const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
		const isNamespace = spec.namespace === "mine";
		const resourceRules = isNamespace ? [everything] : [];
		return [201, { status: { resourceRules, allowed: true } }];
	});
	const api = `${server.url}/v1`;
	await writeFile(
		join(server.folder, "env"),
		`export TIDEMILL_API_URL=${api}\nexport TIDEMILL_API_TOKEN=${tokenOf("tidemill")}\n`,
	);
	vi.stubEnv("TIDEMILL_HOME", server.folder);
	vi.stubEnv("TIDEMILL_API_URL", api);
	vi.stubEnv("TIDEMILL_API_TOKEN", token);
	const words = ["tokens", "whoami", "-n", "mine", "-o", "json"];
	const { stdout, stderr } = await tidemill(...words, ...server.args);
	return { actors: stdout && JSON.parse(stdout), stderr, tokens, server };
}

test("a token that a person sets wins over the kubeconfig, also of a local Tidemill, and whoami says as whom each server sees them", async () => {
	const token = tokenOf("tidemill-token-ro");
	const { actors, tokens, server } = await local(token);
	expect(tokens).toEqual([`Bearer ${token}`]);
	expect(actors).toEqual([
		{
			asks: "Kubernetes",
			address: server.url,
			user: "admin",
			namespace: "mine",
			rights: ["read", "run", "edit", "bodies", "tokens"],
			from: "--kubeconfig, context c",
		},
		{
			asks: "REST API",
			address: `${server.url}/v1`,
			user: "ro",
			namespace: "mine",
			rights: ["read"],
			from: "TIDEMILL_API_TOKEN",
		},
	]);
});

test.each([
	["of this hour", tokenOf("tidemill")],
	["of another hour", tokenOf("tidemill", "old")],
])("the token that make up wrote, %s, is nobody's choice", async (_, token) => {
	const { actors, tokens } = await local(token);
	// The kubeconfig has been asked first; here it says of no API that it is the cluster's own.
	expect(actors[1].from).toBe("make up's token");
	expect(tokens).toEqual([`Bearer ${tokenOf("tidemill")}`]);
});

test("without a console, who a token is of stands in it, and nobody says the rights", async () => {
	const { actors } = await local(tokenOf("ci"), { console: false });
	expect(actors[1]).toMatchObject({
		user: "system:serviceaccount:default:ci",
		from: "TIDEMILL_API_TOKEN",
	});
	expect(actors[1]).not.toHaveProperty("rights");
});
