import { expect, test } from "vitest";
import {
	KubeApiError,
	type WriteOptions,
} from "../../packages/kube/client/client.ts";
import { RequestError } from "../http/errors.ts";
import { writeValidated } from "./validated-write.ts";

const request = {
	method: "POST",
	path: "/apis/tidemill.dev/v1alpha1/namespaces/shop/pipelines",
};
const unknown = new KubeApiError(
	400,
	{
		reason: "BadRequest",
		message:
			'Pipeline in version "v1alpha1" cannot be handled as a Pipeline: strict decoding error: unknown field "spec.a"',
	},
	undefined,
	request,
);
const missing = new KubeApiError(422, {
	reason: "Invalid",
	details: { causes: [{ field: "spec.b", message: "Required value" }] },
});
const exists = new KubeApiError(409, { reason: "AlreadyExists" });
const own = { path: "c", message: "is wrong" };
const [a, b] = [
	{ path: "a", message: "is not a known field" },
	{ path: "b", message: "is required" },
];

/** Writes to an apiserver that gives these answers, one after another. */
async function written(
	answers: (KubeApiError | "stored")[],
	errors: { path: string; message: string }[] = [],
	dryRun = false,
) {
	const asked: WriteOptions[] = [];
	const write = async ({ fieldManager, ...options }: WriteOptions) => {
		expect(fieldManager).toBe("tidemill-api");
		asked.push(options);
		const answer = answers[asked.length - 1]!;
		if (answer instanceof KubeApiError) throw answer;
		return answer;
	};
	const end = await writeValidated("pipeline", { errors }, dryRun, write).catch(
		(error) => (error instanceof RequestError ? error.details : error),
	);
	return { end, asked };
}

const strict = { dryRun: false, strict: true };
const rehearsal = { dryRun: true, strict: true };
/** The apiserver drops unknown fields, so nothing may be stored. */
const lenient = { dryRun: true };

test("what is right is asked once", async () => {
	expect(await written(["stored"])).toEqual({ end: "stored", asked: [strict] });
	expect(await written(["stored"], [], true)).toEqual({
		end: "stored",
		asked: [rehearsal],
	});
});

test("unknown fields are told together with what else is wrong, and never stored without them", async () => {
	expect(await written([unknown, missing])).toEqual({
		end: [a, b],
		asked: [strict, lenient],
	});
	expect(await written([unknown, "stored"])).toEqual({
		end: [a],
		asked: [strict, lenient],
	});
	expect((await written([missing])).asked).toEqual([strict]);
});

test("what is wrong already is never stored, and told with what the apiserver finds", async () => {
	expect(await written(["stored"], [own])).toEqual({
		end: [own],
		asked: [rehearsal],
	});
	expect((await written([unknown, missing], [own])).end).toEqual([own, a, b]);
	const said = { path: "b", message: "is read-only" };
	expect((await written([missing], [said])).end).toEqual([said]);
});

test("a name that is taken is no error of a field, and hides none", async () => {
	expect((await written([exists])).end).toMatchObject({
		reason: "AlreadyExists",
	});
	expect((await written([unknown, exists])).end).toEqual([a]);
	expect((await written([exists], [own])).end).toEqual([own]);
});

test("any other refusal goes on as it is", async () => {
	const forbidden = new KubeApiError(403, { reason: "Forbidden" });
	for (const answers of [[forbidden], [unknown, forbidden]])
		expect((await written(answers)).end).toBe(forbidden);
	const outdated = new KubeApiError(422, { reason: "Invalid", details: {} });
	expect((await written([outdated], [own])).end).toBe(outdated);
});
