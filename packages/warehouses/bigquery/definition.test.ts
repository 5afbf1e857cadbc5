import { expect, test } from "vitest";
import { parseServiceAccountKey } from "./definition.ts";

const key = {
	type: "service_account",
	client_email: "loader@p.iam.gserviceaccount.com",
	private_key: "PEM",
	private_key_id: "1",
};
const parse = (value: unknown) => parseServiceAccountKey(JSON.stringify(value));

test("of a service account's key what signs is read, its cloud, and who pays", () => {
	const given = { token_uri: "http://x", universe_domain: "x", other: 1 };
	const read = { email: key.client_email, privateKey: "PEM", id: "1" };
	expect(parse({ ...key, ...given })).toEqual({ ...read, universe: "x" });
	expect(parse({ ...key, quota_project_id: "payer" })).toEqual({
		...read,
		universe: "googleapis.com",
		quotaProject: "payer",
	});
	expect(parse({ ...key, quota_project_id: "a\nb: c" })).toEqual({
		...read,
		universe: "googleapis.com",
	});
	expect(parse({ ...key, private_key_id: undefined })).not.toHaveProperty("id");
});

test.each<[string, unknown]>([
	["another kind", { ...key, type: "external_account" }],
	["no kind", { ...key, type: undefined }],
	["no email", { ...key, client_email: undefined }],
	["no private key", { ...key, private_key: { file: "/etc/passwd" } }],
	["null", null],
	["a list", [key]],
])("%s is no service account's key", (_, value) => {
	expect(parse(value)).toBeUndefined();
});

test("text that is not JSON is no service account's key", () => {
	expect(parseServiceAccountKey("{")).toBeUndefined();
});
