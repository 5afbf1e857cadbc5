import { computed, signal } from "@preact/signals";
import { signInWords } from "../messages/shell.ts";
import { hasUnsaved, namespace } from "../router/navigation.ts";
import { ApiProblem, type SignInWays } from "./problem.ts";
import { send } from "./request.ts";

/** A verb of Kubernetes on what the rights are about. */
export type RightVerb =
	| "get"
	| "list"
	| "watch"
	| "create"
	| "update"
	| "patch"
	| "delete";

/** Who the visitor is, and what they may do in the namespace. */
export interface VisitorSession {
	user: string;
	namespace: string;
	/** The namespace of the address when the API was asked. */
	asked: string;
	/** Those that the visitor may choose; without the one that was asked for if there is none of that name. */
	namespaces: string[];
	expiresAt: string | null;
	version: string;
	/** Verbs by plural, or by plural and subresource: `sources`, `sources/bodies`. */
	rights: Record<string, string[]>;
}

type SessionState =
	| { kind: "unknown" }
	/** With what the API says, if it does: of a namespace that can't be, or of the host. */
	| { kind: "away"; detail: string | undefined }
	| {
			kind: "signedOut";
			ways: SignInWays;
			hasEnded: boolean;
			/** What goes on after the visitor has signed out. */
			farewell?: string;
	  }
	| { kind: "signedIn"; session: VisitorSession };

export const sessionState = signal<SessionState>({ kind: "unknown" });

export const session = computed(() => {
	const state = sessionState.value;
	return state.kind === "signedIn" ? state.session : undefined;
});

/** The namespace of the visitor's ServiceAccount, if the address names another one: nothing of that is theirs to see. */
export const boundTo = computed(() => {
	const { asked, namespace: own } = session.value ?? {};
	return asked === namespace.value && own !== asked ? own : undefined;
});

/** Whether there is no namespace of the address's name, as far as the visitor may know. */
export const isUnknownNamespace = computed(() => {
	const { asked, namespaces = [] } = session.value ?? {};
	const here = namespace.value;
	return asked === here && !boundTo.value && !namespaces.includes(here);
});

/** Whether the visitor may do that in the namespace of the address. What they may not do isn't offered. */
export function can(resource: string, verb: RightVerb): boolean {
	return session.value?.rights[resource]?.includes(verb) ?? false;
}

const usualWays: SignInWays = { token: true, oidc: false, code: true };
/** The other tabs of this browser share the cookie. */
const tabs = new BroadcastChannel("tidemill-session");
tabs.onmessage = () => void loadSession();

const awayAgainMs = 5_000;

/** Asks who the visitor is. Never throws: the state says what came of it. */
export async function loadSession(): Promise<void> {
	const before = sessionState.peek();
	const wasSignedIn = before.kind === "signedIn";
	try {
		const asked = namespace.peek();
		const query = { namespace: asked };
		const answer = await send("GET", "console/session", { query });
		setSession({ ...(await answer.json()), asked });
	} catch (error) {
		if (!(error instanceof ApiProblem)) throw error;
		if (error.status === 401)
			sessionState.value = {
				kind: "signedOut",
				hasEnded: wasSignedIn,
				// Who is asked to sign in still knows why.
				...(before.kind === "signedOut" && before),
				ways: error.signIn ?? usualWays,
			};
		// What is on the page stays: the line above it says that the API is away.
		else if (!wasSignedIn) {
			const detail = error.code === "Away" ? undefined : error.message;
			// The sign-in may have a token in it, and says itself that nothing answers.
			if (before.kind !== "signedOut")
				sessionState.value = { kind: "away", detail };
			setTimeout(() => void loadSession(), awayAgainMs);
		}
	}
}

/** As often as a tab is seen again: whether the session goes on or, if the tab keeps a form for the next one, has begun elsewhere. */
export async function reviewSession(): Promise<void> {
	const { kind } = sessionState.peek();
	const isWaiting = kind === "signedOut" && hasUnsaved();
	if (kind === "signedIn" || isWaiting) await loadSession();
}

/** Throws an {@link ApiProblem} if the API doesn't accept it. */
export async function signIn(
	credential: { token: string } | { code: string },
): Promise<void> {
	const asked = namespace.peek();
	const answer = await send("POST", "console/session", {
		body: credential,
		query: { namespace: asked },
	});
	setSession({ ...(await answer.json()), asked });
	tabs.postMessage("changed");
}

export async function signOut(): Promise<void> {
	const farewell = await send("DELETE", "console/session").then(
		() => signInWords.signedOut,
		(error) => {
			// The browser has forgotten the session in any case.
			if (error instanceof ApiProblem && error.status === 503)
				return error.message;
			throw error;
		},
	);
	sessionState.value = { kind: "unknown" };
	await loadSession();
	const state = sessionState.peek();
	if (state.kind === "signedOut") sessionState.value = { ...state, farewell };
	tabs.postMessage("changed");
}

function setSession(value: VisitorSession): void {
	sessionState.value = { kind: "signedIn", session: value };
}
