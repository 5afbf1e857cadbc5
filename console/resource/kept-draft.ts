import { effect } from "@preact/signals";
import { session, sessionState } from "../api/session.ts";
import { holdTab } from "../router/navigation.ts";
import type { Draft } from "./draft.ts";
import type { Original } from "./save.ts";

/** What a form holds: what it began with, what it has, and the YAML in it that is none yet. */
export interface FormState {
	base: Original | undefined;
	start: Draft;
	draft: Draft;
	unread: string | undefined;
}

interface KeptForm {
	state: FormState;
	user: string | undefined;
	/** Until then, the tab asks before it is closed. */
	release(): void;
}

/** In this tab's memory alone. */
const kept = new Map<string, KeptForm>();

// Nobody else gets it.
effect(() => {
	const { value: visitor } = session;
	for (const [key, { user }] of kept)
		if (visitor && visitor.user !== user) takeForm(key);
});

/** Keeps an unsaved form whose session has ended for the same visitor's next sign-in. @param key which form it is */
export function keepForm(
	key: string,
	state: FormState,
	user: string | undefined,
): void {
	const { value: now } = sessionState;
	if (now.kind === "signedOut" && now.hasEnded)
		kept.set(key, { state, user, release: holdTab() });
}

export function takeForm(key: string): FormState | undefined {
	const found = kept.get(key);
	found?.release();
	kept.delete(key);
	return found?.state;
}
