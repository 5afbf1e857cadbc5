import { exportCursorForm } from "../../contracts/stored/export.ts";
import type { Operation } from "../../crds/generated/types.ts";
import { requireRight } from "../caller/access.ts";
import { invalidParameter, RequestError } from "../http/errors.ts";
import type { Handler } from "../http/operation.ts";
import { operations } from "../resources/api-resource.ts";
import { requireResource } from "../resources/resource-read.ts";

/**
 * `GET /v1/operations/{name}/files`: links to the files of an Export, and the `cursor` of the next page. It needs the right to
 * the bodies of the Source's events.
 */
export const listExportFiles: Handler = async (
	caller,
	{ params, query },
	reply,
) => {
	const name = params.name!;
	const { cursor } = query;
	if (cursor !== undefined && !exportCursorForm.test(cursor))
		throw invalidParameter("cursor", "must be that of the last page", cursor);
	const found = await requireResource(operations, caller, name);
	const { metadata, spec, status } = found as Operation;
	if (spec.type !== "Export" || status?.phase !== "Succeeded")
		throw new RequestError(
			"Conflict",
			`The operation "${name}" has no files: it is ${spec.type === "Export" ? "an Export" : `of type ${spec.type}`} in phase ${status?.phase ?? "Pending"}, and only an Export that has succeeded has some.`,
		);
	await requireRight(caller, {
		verb: "get",
		resource: "sources",
		subresource: "bodies",
		name: spec.sourceRef.name,
	});
	const answer = await caller
		.askExport({
			operation: metadata.uid!,
			account: caller.account,
			...(cursor !== undefined && { after: cursor }),
		})
		.catch((error: Error) => {
			caller.log.warn({ err: error }, "archive has no files of an export");
			throw unavailable("archive doesn't answer. Retry the request.");
		});
	if (!answer.ok) {
		const { message, retryable } = answer.error;
		if (retryable) throw unavailable(message);
		throw new RequestError("Conflict", message);
	}
	// The links are secrets.
	reply.header("cache-control", "no-store");
	const { files, next, expiresAt } = answer;
	return {
		items: files.map(({ rows: events, ...file }) => ({ ...file, events })),
		...(next !== undefined && { cursor: next }),
		expiresAt,
	};
};

function unavailable(message: string): RequestError {
	return new RequestError(
		"Unavailable",
		`The files of the export can't be listed: ${message}`,
		{ headers: { "retry-after": "2" } },
	);
}
