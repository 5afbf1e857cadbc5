import type { Operation } from "../../crds/generated/types.ts";
import { exportCursorForm } from "../../packages/contracts/transfer.ts";
import { requireRight } from "../caller/account.ts";
import type { ApiRequest, Handler } from "../http/endpoint.ts";
import { invalidParameter, RequestError } from "../http/errors.ts";
import { operations } from "../resources/api-resource.ts";
import { requireResource } from "../resources/resource-read.ts";

/**
 * `GET /v1/operations/{name}/files`: links to the files of an Export, and the `cursor` of the next page. It needs the right to
 * the bodies of the Source's events.
 */
export const listExportFiles: Handler = async (request) => {
	const { params, query } = request;
	const name = params.name!;
	const { cursor } = query;
	if (cursor !== undefined && !exportCursorForm.test(cursor))
		throw invalidParameter("cursor", "must be that of the last page", cursor);
	const found = await requireResource(operations, request, name);
	const { metadata, spec, status } = found as Operation;
	if (spec.type !== "Export" || status?.phase !== "Succeeded")
		throw new RequestError(
			"Conflict",
			`The operation "${name}" has no files: it is ${spec.type === "Export" ? "an Export" : `of type ${spec.type}`} in phase ${status?.phase ?? "Pending"}, and only an Export that has succeeded has some.`,
		);
	await requireRight(request, {
		verb: "get",
		resource: "sources",
		subresource: "bodies",
		name: spec.sourceRef.name,
	});
	const asked = request.server.archive.askExport({
		operation: metadata.uid!,
		account: request.account,
		...(cursor !== undefined && { after: cursor }),
	});
	const failure = "The files of the export can't be listed";
	const answer = await linksOf(asked, failure, request);
	const { files, next, expiresAt } = answer;
	return {
		items: files.map(({ rows: events, ...file }) => ({ ...file, events })),
		...(next !== undefined && { cursor: next }),
		expiresAt,
	};
};

interface Refusal {
	ok: false;
	error: { message: string; retryable: boolean };
}

/**
 * What archive answers with links, which are secrets.
 * @param failure what people can't do without them, as in "Nothing can be uploaded".
 * Throws {@link RequestError} Unavailable if archive can't answer now, or Conflict if it refuses.
 */
export async function linksOf<Answer extends { ok: true } | Refusal>(
	asked: Promise<Answer>,
	failure: string,
	request: ApiRequest,
): Promise<Extract<Answer, { ok: true }>> {
	const unavailable = (why: string) =>
		new RequestError("Unavailable", `${failure}: ${why}`, {
			headers: { "retry-after": "2" },
		});
	const answer = await asked.catch((error: Error) => {
		request.server.apiLog.warn({ err: error }, "archive gives no links");
		throw unavailable("archive doesn't answer. Retry the request.");
	});
	if (!answer.ok) {
		const { message, retryable } = answer.error;
		if (retryable) throw unavailable(message);
		throw new RequestError("Conflict", message);
	}
	return answer as Extract<Answer, { ok: true }>;
}
