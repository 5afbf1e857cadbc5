import { expect, test } from "vitest";
import { KubeApiError } from "../../packages/kube/client/client.ts";
import { messageOf } from "./errors.ts";

const request = {
	method: "POST",
	path: "/apis/tidemill.dev/v1alpha1/namespaces/shop/pipelines",
};

test("wrong fields are named each on a line, unknown ones with the nearest name", async () => {
	const unknown = {
		message:
			'Pipeline in version "v1alpha1" cannot be handled as a Pipeline: strict decoding error: unknown field "spec.table.nmae"',
	};
	expect(
		await messageOf(new KubeApiError(400, unknown, undefined, request)),
	).toBe(
		'the object is invalid:\n  table.nmae: is not a known field. Did you mean "name"?',
	);
	const details = {
		...{ kind: "Pipeline", name: "orders" },
		causes: [{ field: "spec.sourceRef.name", message: "Required value" }],
	};
	expect(await messageOf(new KubeApiError(422, { details }))).toBe(
		'the Pipeline "orders" is invalid:\n  sourceRef.name: is required',
	);
});

test("a request that the apiserver can't read is told as it says", async () => {
	const message = "the object provided is unrecognized";
	expect(await messageOf(new KubeApiError(400, { message }))).toBe(message);
});
