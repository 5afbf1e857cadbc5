import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { apiserver } from "../../test/support/cli/apiserver.ts";
import { inProcess as tidemill } from "../../test/support/cli/in-process.ts";

const labels = { "tidemill.dev/use": "true" };
const other = { token: btoa("old") };

/** `sources set-secret` of a Source that names a key of a Secret, which is there or not; the writes that it asks for. */
async function setSecret(key: string, secret: object | undefined) {
	const writes: [string, unknown][] = [];
	const { args, folder } = await apiserver((request, body) => {
		if (!request.startsWith("GET")) writes.push([request, JSON.parse(body)]);
		if (request.startsWith("POST"))
			return secret
				? [409, { kind: "Status", reason: "AlreadyExists", code: 409 }]
				: [201, {}];
		const secretRef = { name: "chosen", key };
		return [
			200,
			request.includes("/secrets/")
				? secret
				: {
						spec: {
							webhook: { authorization: { customToken: { secretRef } } },
						},
					},
		];
	});
	const file = join(folder, "secret");
	await writeFile(file, "new\n");
	const words = ["sources", "set-secret", "shop", "--secret-file", file];
	return { ...(await tidemill(...words, ...args)), writes };
}

const metadata = {
	name: "chosen",
	namespace: "mine",
	uid: "u",
	resourceVersion: "7",
};

test("a secret of a Source goes into a new Secret, with the label", async () => {
	const { exitCode, writes } = await setSecret("token", undefined);
	expect(exitCode).toBe(0);
	expect(writes).toMatchObject([
		[
			"POST /api/v1/namespaces/mine/secrets?fieldManager=tidemill",
			{ metadata: { labels }, data: { token: btoa("new") } },
		],
	]);
});

test("it is replaced in the very Secret that has the label, and nothing else of that is", async () => {
	const there = { metadata: { ...metadata, labels }, data: other };
	const { exitCode, writes } = await setSecret("token", there);
	expect(exitCode).toBe(0);
	expect(writes[1]![1]).toEqual({
		metadata: { uid: "u", resourceVersion: "7" },
		data: { token: btoa("new") },
	});
});

test.each([
	["without the label", {}, other, "lacks the label tidemill.dev/use=true"],
	[
		"with another value of it",
		{ "tidemill.dev/use": "false" },
		other,
		"lacks the label",
	],
	[
		"of a webhook URL",
		{ ...labels, "tidemill.dev/issued-for": "shop" },
		other,
		"keys of a webhook URL",
	],
	[
		"of a login",
		labels,
		{ username: "", token: "" },
		"the user or the address of a server",
	],
	[
		"that says where a password may go",
		labels,
		{ host: "" },
		"the user or the address",
	],
])(
	"a Secret %s stays as it is, whichever Source names it",
	async (_, own, data, words) => {
		const there = { metadata: { ...metadata, labels: own }, data };
		const { exitCode, stderr, writes } = await setSecret("token", there);
		expect(stderr).toContain(words);
		expect(exitCode).toBe(1);
		// The attempt to create it, which the apiserver refused.
		expect(writes.map(([request]) => request.split(" ")[0])).toEqual(["POST"]);
	},
);
