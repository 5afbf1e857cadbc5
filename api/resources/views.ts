import { hash } from "node:crypto";
import type { Run } from "../../crds/generated/types.ts";
import type { KubeObject, ObjectMeta } from "../../packages/kube/resource.ts";
import { isObject, type JsonObject } from "../http/endpoint.ts";
import { RequestError } from "../http/errors.ts";
import type { Resource } from "./api-resource.ts";

/**
 * A resource in the API: the CRD's fields at one level, without internals. Its phase is called `status`, where orchestrators
 * look for it, and has the same words as in kubectl. If spec and status have a field of the same name, the view has the one
 * of the spec.
 */
export function resourceView({
	metadata,
	spec,
	status = {},
}: Resource): JsonObject {
	return { ...head(metadata), ...statusView(status), ...spec };
}

/** A Run in the API: also at one level, with its pipeline's name. Once known, the dates are those that it loads. */
export function runView({
	metadata,
	spec,
	status = {},
}: Run): JsonObject & { name: string } {
	const { pipelineRef, ...requested } = spec;
	return {
		...head(metadata),
		pipeline: pipelineRef.name,
		...requested,
		...statusView({ phase: "Pending", ...status }),
	};
}

/** What the parts of Tidemill exchange in a status. A Run's log has a path of its own. */
const internals = new Set([
	...["shard", "sourceKey", "layout"],
	...["hash", "request", "log"],
]);

/** What the API calls a field of a status: undefined for one that it doesn't show. */
export function shownName(field: string): string | undefined {
	if (internals.has(field)) return undefined;
	return field === "phase" ? "status" : field;
}

function statusView(status: object): JsonObject {
	return Object.fromEntries(
		Object.entries(status).flatMap(([field, value]) => {
			const name = shownName(field);
			const shown = isObject(value) ? statusView(value) : value;
			return name === undefined ? [] : [[name, shown]];
		}),
	);
}

function head(metadata: Resource["metadata"]) {
	const { name, uid, creationTimestamp, generation, labels } = metadata;
	const manager = managedBy(metadata);
	return {
		name,
		id: uid,
		createTime: creationTimestamp,
		updateTime: updateTimeOf(metadata),
		generation,
		...(manager && { managedBy: manager }),
		...(labels && { labels }),
	};
}

/** When anybody last wrote the spec or the status: the apiserver notes it for each writer. */
function updateTimeOf({
	creationTimestamp,
	managedFields = [],
}: Resource["metadata"]): string | undefined {
	const times = managedFields.flatMap(({ time }) => (time ? [time] : []));
	return [creationTimestamp ?? "", ...times].sort().at(-1);
}

/** The GitOps tool that undoes changes made here, because it applies the resource from a repository. */
type Manager = "ArgoCD" | "Flux" | "Helm";

/** The tool that manages the resource, by the labels and annotations that each tool documents. */
export function managedBy({
	labels = {},
	annotations = {},
}: Pick<ObjectMeta, "labels" | "annotations">): Manager | undefined {
	if (
		"argocd.argoproj.io/tracking-id" in annotations ||
		"argocd.argoproj.io/instance" in labels
	)
		return "ArgoCD";
	if (
		"kustomize.toolkit.fluxcd.io/name" in labels ||
		"helm.toolkit.fluxcd.io/name" in labels
	)
		return "Flux";
	return "meta.helm.sh/release-name" in annotations ? "Helm" : undefined;
}

/**
 * The generation increases with every change of the spec but not of the status, which changes often. Labels don't change it,
 * and clients may write them. A resource of the same name that is made after a deletion begins at 1 again, with another uid.
 */
export function etagOf({ metadata }: KubeObject): string {
	const { uid, generation, labels = {} } = metadata;
	const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
	const digest = hash("sha256", JSON.stringify([uid, sorted])).slice(0, 16);
	return `"${generation}-${digest}"`;
}

/** Throws `PreconditionFailed` if there is an `If-Match` and it lacks the object's ETag (RFC 9110 §13.1.1). */
export function requireMatch(
	ifMatch: string | undefined,
	object: KubeObject,
): void {
	if (isMatch(ifMatch, object)) return;
	throw new RequestError(
		"PreconditionFailed",
		`The resource changed (ETag ${etagOf(object)}). Fetch it and retry.`,
	);
}

export function isMatch(
	ifMatch: string | undefined,
	object: KubeObject,
): boolean {
	if (ifMatch === undefined || ifMatch.trim() === "*") return true;
	const etag = etagOf(object);
	return ifMatch.split(",").some((tag) => tag.trim() === etag);
}
