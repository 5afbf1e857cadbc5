import { isDeepStrictEqual } from "node:util";
import type { FastifyReply } from "fastify";
import { hasReason, KubeApiError } from "../../packages/kube/client/client.ts";
import type { ApiRequest, Handler } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import { flagOf } from "../http/query.ts";
import type { ApiResource, Resource } from "./api-resource.ts";
import {
	changedSpec,
	fieldsBeside,
	hasReadOnly,
	replacedSpec,
	type SpecChange,
	specPatch,
	type WantedSpec,
} from "./resource-body.ts";
import {
	awaitStatus,
	notFound,
	requireResource,
	respond,
} from "./resource-read.ts";
import { withSecrets } from "./secret-fields.ts";
import { writeValidated } from "./validated-write.ts";
import { isMatch, requireMatch } from "./views.ts";

/** Attempts at a change while others change the resource too. */
const maxAttempts = 5;

/**
 * `PATCH /v1/<collection>/{name}`: a JSON Merge Patch (RFC 7396), to the version that `If-Match` names. It answers once the
 * operator has checked the change. With `?dryRun=true`, nothing is changed.
 */
export function updateOf(resource: ApiResource): Handler {
	const rewrite = rewriteOf(resource, changedSpec);
	return async (request, reply) => {
		const { params, query, body, headers } = request;
		const ifMatch = headers["if-match"];
		if (ifMatch !== undefined || needsRead(resource, body))
			return rewrite(request, reply);
		const dryRun = flagOf("dryRun", query.dryRun);
		const after = await merge(resource, request, params.name!, body, dryRun);
		return answer(resource, request, after, dryRun, reply);
	};
}

/** `PUT /v1/<collection>/{name}`: the body replaces all that people set. Otherwise as {@link updateOf}. */
export function replaceOf(resource: ApiResource): Handler {
	return rewriteOf(resource, replacedSpec);
}

function rewriteOf(resource: ApiResource, specAfter: SpecChange): Handler {
	return async (request, reply) => {
		const { params, query, body, headers } = request;
		const ifMatch = headers["if-match"];
		const dryRun = flagOf("dryRun", query.dryRun);
		for (let attempt = 1; attempt <= maxAttempts; attempt++) {
			const before = await requireResource(resource, request, params.name!);
			// RFC 9110 §13.2.1: errors of the request itself come before those of its preconditions.
			const wanted = specAfter(resource, before, body);
			if (!isMatch(ifMatch, before))
				await change(resource, request, before, wanted, true);
			requireMatch(ifMatch, before);
			const after = await change(resource, request, before, wanted, dryRun);
			if (after) return answer(resource, request, after, dryRun, reply);
		}
		throw new RequestError(
			"Conflict",
			`Other changes to the ${resource.noun} came first each time. Retry the request.`,
			{ headers: { "retry-after": "1" } },
		);
	};
}

async function answer(
	resource: ApiResource,
	request: ApiRequest,
	after: Resource,
	dryRun: boolean,
	reply: FastifyReply,
) {
	const seen = dryRun ? after : await awaitStatus(resource, request, after);
	return respond(reply, seen ?? after);
}

/** To make secrets, or to see whether the patch changes a read-only field. */
function needsRead(
	{ kind, secretFields }: ApiResource,
	patch: Record<string, unknown>,
): boolean {
	return (
		hasReadOnly(kind.kind, patch) ||
		secretFields.some(({ at: [first] }) => Object.hasOwn(patch, first!))
	);
}

/** The apiserver merges the patch into the current state, so that no read is needed and no other change is lost. */
async function merge(
	resource: ApiResource,
	{ client, account }: ApiRequest,
	name: string,
	patch: Record<string, unknown>,
	dryRun: boolean,
): Promise<Resource> {
	const { kind, noun } = resource;
	const { patch: body, errors } = specPatch(resource, patch, name);
	const beside = fieldsBeside(resource);
	try {
		return await writeValidated(noun, { errors, beside }, dryRun, (options) =>
			client.patch<Resource>(kind, name, account, body, "merge", options),
		);
	} catch (error) {
		throw hasReason(error, "NotFound")
			? notFound(resource, name, account)
			: error;
	}
}

/** Returns undefined, without effect, if the resource has changed since `before`. */
async function change(
	resource: ApiResource,
	{ client, account }: ApiRequest,
	before: Resource,
	wanted: WantedSpec,
	dryRun: boolean,
): Promise<Resource | undefined> {
	const { spec, labels, errors } = wanted;
	const { name, uid, generation, labels: known } = before.metadata;
	const relabels =
		labels !== undefined && !isDeepStrictEqual(labels, known ?? {});
	const isSame = !relabels && isDeepStrictEqual(spec, before.spec);
	if (isSame && errors.length === 0) return before;
	const { kind, noun } = resource;
	const steps = [
		{ op: "test", path: "/metadata/uid", value: uid },
		{ op: "test", path: "/metadata/generation", value: generation },
		{ op: "replace", path: "/spec", value: spec },
		...(relabels ? labelSteps(known, labels) : []),
	];
	const beside = fieldsBeside(resource);
	const write = (dryRun: boolean) =>
		writeValidated(noun, { errors, beside }, dryRun, (options) =>
			client.patch<Resource>(kind, name, account, steps, "json", options),
		);
	try {
		return await withSecrets({ client, account }, wanted, dryRun, write);
	} catch (error) {
		if (isOutdated(error)) return undefined;
		throw error;
	}
}

/** Labels have no generation, so others' changes show in their value. */
function labelSteps(
	known: Record<string, string> | undefined,
	value: Record<string, string>,
) {
	const path = "/metadata/labels";
	return [
		...(known ? [{ op: "test", path, value: known }] : []),
		{ op: "add", path, value },
	];
}

/** A JSON Patch `test` failed. The apiserver answers 422 without a field, or 409 if the other change came in between. */
function isOutdated(error: unknown): boolean {
	if (hasReason(error, "Conflict")) return true;
	if (!(error instanceof KubeApiError) || error.status !== 422) return false;
	const { causes } = (error.details ?? {}) as { causes?: { field?: string }[] };
	return !causes?.some(({ field }) => field);
}
