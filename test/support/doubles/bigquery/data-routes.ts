import type { BigQueryJob } from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import { type Answer, type Api, type Call, jsonOf } from "./call.ts";
import { notFound } from "./fault.ts";
import { jobResource } from "./resources.ts";
import { parseMultipart } from "./uploads.ts";

/** Lists and deletes objects (cloud.google.com/storage/docs/json_api/v1/objects). */
export function objectRoute({ buckets }: Api, { request, url }: Call): Answer {
	const [, bucket, name] =
		/^\/storage\/v1\/b\/([^/]+)\/o(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
	if (!bucket) throw notFound(url.pathname);
	if (request.method === "DELETE") {
		buckets.delete(bucket, decodeURIComponent(name ?? ""));
		return { status: 204 };
	}
	const { searchParams: query } = url;
	const page = buckets.list(
		bucket,
		query.get("prefix") ?? "",
		query.get("pageToken"),
	);
	return { status: 200, body: page };
}

/** Takes the data of a load job (cloud.google.com/bigquery/docs/reference/api-uploads) or of an object (cloud.google.com/storage/docs/json_api/v1/objects/insert). */
export function uploadRoute(api: Api, call: Call): Answer {
	const { headers, method } = call.request;
	if (method === "PUT") return chunkRoute(api, call);
	const bucket = bucketOf(call);
	const jobs = `/upload/bigquery/v2/projects/${api.warehouse.projectId}/jobs`;
	if (bucket === undefined && call.url.pathname !== jobs)
		throw notFound(call.url.pathname);
	const resource = () => jsonOf(call);
	if (bucket !== undefined) api.buckets.require(bucket);
	else if (call.url.searchParams.get("uploadType") === "multipart") {
		const { job, data } = parseMultipart(
			headers["content-type"] ?? "",
			call.body,
		);
		return { status: 200, body: jobResource(api.jobs.start(job, data)) };
	} else api.jobs.requireStartable(resource());
	const length = headers["x-upload-content-length"];
	const size = length === undefined ? undefined : Number(length);
	const session = new URL(call.url);
	session.searchParams.set("upload_id", api.uploads.begin(resource(), size));
	return { status: 200, headers: { location: session.href } };
}

function chunkRoute({ jobs, uploads, buckets }: Api, call: Call): Answer {
	const session = uploads.put(
		call.url.searchParams.get("upload_id") ?? "",
		call.request.headers["content-range"] ?? "",
		call.body,
	);
	const { resource, size, received } = session;
	if (received.length < size!)
		return {
			status: 308,
			...(received.length > 0 && {
				headers: { range: `bytes=0-${received.length - 1}` },
			}),
		};
	const bucket = bucketOf(call);
	// A repeat of the last chunk gets the same answer (cloud.google.com/storage/docs/performing-resumable-uploads#status-check).
	session.made ??=
		bucket === undefined
			? jobResource(jobs.start(resource as BigQueryJob, received))
			: buckets.put(bucket, (resource as { name: string }).name, received);
	return { status: 200, body: session.made! };
}

function bucketOf({ url }: Call): string | undefined {
	return /^\/upload\/storage\/v1\/b\/([^/]+)\/o$/.exec(url.pathname)?.[1];
}
