import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { type Loaded, useLoaded } from "../api/use-loaded.ts";
import {
	bodyOf,
	collections,
	type Draft,
	draftOf,
	type FormKind,
	type ResourceView,
} from "./draft.ts";

/** A resource as it was when the form began, which a change must still find there. */
export interface Original {
	draft: Draft;
	etag: string | undefined;
	managedBy: string | undefined;
	/** With what the operator says of it. */
	view: ResourceView;
}

export type SaveResult = { view: ResourceView } | { changed: Original };

export async function loadOriginal(
	kind: FormKind,
	name: string,
	signal?: AbortSignal,
): Promise<Original> {
	const { value, etag } = await api.tagged<ResourceView>(
		pathOf(kind, name),
		signal && { signal },
	);
	return {
		view: value,
		draft: draftOf(kind, value),
		etag,
		managedBy: value.managedBy,
	};
}

/**
 * Creates the resource, or replaces it if it is still as it was. If it has changed, nothing is saved, and the result is what it is
 * now. Throws an {@link ApiProblem} for any other refusal.
 */
export async function saveDraft(
	kind: FormKind,
	draft: Draft,
	original: Original | undefined,
): Promise<SaveResult> {
	const body = bodyOf(draft);
	if (!original)
		return { view: await api.post<ResourceView>(collections[kind], body) };
	const path = pathOf(kind, original.draft.name);
	try {
		const headers = original.etag ? { "If-Match": original.etag } : {};
		return { view: await api.put<ResourceView>(path, body, { headers }) };
	} catch (error) {
		if (!(error instanceof ApiProblem) || error.status !== 412) throw error;
		return { changed: await loadOriginal(kind, draft.name) };
	}
}

/** What the API would say, without a change. Resolves to undefined if nothing is wrong. */
export async function tryDraft(
	kind: FormKind,
	draft: Draft,
	isNew: boolean,
	signal: AbortSignal,
): Promise<ApiProblem | undefined> {
	const options = { query: { dryRun: true }, signal };
	try {
		if (isNew) await api.post(collections[kind], bodyOf(draft), options);
		else await api.put(pathOf(kind, draft.name), bodyOf(draft), options);
		return undefined;
	} catch (error) {
		if (error instanceof ApiProblem) return error;
		throw error;
	}
}

export function pathOf(kind: FormKind, name: string): string {
	return `${collections[kind]}/${encodeURIComponent(name)}`;
}

/** A resource as the API has it now, for a form that changes it. @param round another number loads it again */
export function useOriginal(
	kind: FormKind,
	name: string,
	round = 0,
): Loaded<Original> {
	return useLoaded(
		(signal) => loadOriginal(kind, name, signal),
		[kind, name, round],
	);
}
