import { expect, test } from "vitest";
import type { DestinationStatus } from "../../crds/generated/types.ts";
import type { Secret } from "../../packages/kube/kinds.ts";
import {
	at,
	bigQuery,
	destinationWith,
	now,
	secretRef,
	stateWith,
	statusIn,
} from "../../test/support/examples/destination-examples.ts";
import { checkHash } from "./check.ts";
import { decide } from "./decide.ts";

const key = { type: "service_account", client_email: "l@p", private_key: "k" };

function secretWith(value: object | string, labelled = true): Secret {
	const text = typeof value === "string" ? value : JSON.stringify(value);
	return {
		metadata: {
			name: "google",
			...(labelled && { labels: { "tidemill.dev/use": "true" } }),
		},
		data: { "key.json": Buffer.from(text).toString("base64") },
	};
}

function withCredentials(credentials: Secret, status?: DestinationStatus) {
	const spec = bigQuery({ credentials: { secretRef } });
	return stateWith({
		destination: destinationWith(status, spec),
		credentials: [credentials],
	});
}

test.each([
	["SecretNotLabelled", secretWith(key, false)],
	["SecretKeyNotFound", { ...secretWith(key), data: {} }],
	["CredentialsInvalid", secretWith("no JSON")],
	["CredentialsInvalid", secretWith({ ...key, type: "external_account" })],
])("%s is reported without a check", (reason, secret) => {
	expect(statusIn(decide(withCredentials(secret), now))).toMatchObject({
		conditions: [{ status: "False", reason }],
	});
});

test("the check of a BigQuery destination gets a copy of the key as a file, and not the account's Secret", () => {
	const start = decide(withCredentials(secretWith(key)), now).find(
		(action) => action.type === "startJob",
	)!;
	const pod = start.job.job.spec!.template.spec!;
	const { name: secretName } = start.job.secret.metadata;
	expect(pod.volumes).toEqual([
		{ name: "input", secret: { secretName } },
		{ name: "scratch", emptyDir: {} },
	]);
	expect(pod.containers[0]!.env).toContainEqual({
		name: "GOOGLE_APPLICATION_CREDENTIALS",
		value: "/var/run/tidemill/input/key.json",
	});
	const { "input.json": base64, ...copy } = start.job.secret.data!;
	expect(copy).toEqual(secretWith(key).data);
	const text = Buffer.from(base64!, "base64").toString();
	expect(JSON.parse(text).destination).toEqual({
		type: "BigQuery",
		projectId: "my-project",
		dataset: "events",
		location: "EU",
		createDataset: false,
	});
});

test("another key is verified again, under another name", () => {
	const spec = bigQuery({ credentials: { secretRef } });
	const old = checkHash(spec, [secretWith(key)]);
	const verified = { lastCheck: { hash: old, time: at, failures: 0 } };
	const types = (secret: Secret) =>
		decide(withCredentials(secret, verified), now).map(({ type }) => type);
	expect(types(secretWith(key))).not.toContain("startJob");
	expect(types(secretWith({ ...key, private_key: "other" }))).toContain(
		"startJob",
	);
});
