import { type Loaded, useLoaded } from "../api/use-loaded.ts";
import type { FormKind } from "./draft.ts";
import { loadOriginal, type Original } from "./save.ts";

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
