import { useSignal } from "@preact/signals";
import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import {
	boundTo,
	can,
	isUnknownNamespace,
	loadSession,
	session,
	sessionState,
} from "../api/session.ts";
import { Dialog } from "../components/dialog.tsx";
import { NotFound } from "../components/not-found.tsx";
import { Page, Skeleton } from "../components/page.tsx";
import { shell as words } from "../messages/shell.ts";
import {
	address,
	askBeforeLeaving,
	href,
	namespace,
	navigate,
} from "../router/navigation.ts";
import {
	type ConsolePage,
	loadedPage,
	loadPage,
	MissingFile,
	pageOf,
} from "./pages.ts";
import { firstPage, Shell } from "./shell.tsx";
import { SignIn } from "./sign-in.tsx";
import { reloadForFile } from "./upgrade.ts";

/** The console: the sign-in, or the page of the address inside the shell. */
export function App() {
	const state = sessionState.value;
	const { path } = address.value;
	const isSignedIn = state.kind === "signedIn";
	useEffect(() => {
		if (isSignedIn && path === "")
			void navigate(firstPage(), {}, { replace: true });
	}, [isSignedIn, path]);
	if (state.kind === "unknown")
		return (
			<main class="alone">
				<p role="status">{words.loading}</p>
			</main>
		);
	if (state.kind === "away")
		return (
			<main class="alone">
				<h1>{words.product}</h1>
				<p role="alert">{state.detail ?? words.away}</p>
				<button type="button" onClick={() => void loadSession()}>
					{words.retry}
				</button>
				{state.detail !== undefined && (
					<a href={href("sources", { namespace: "default" })}>
						{words.toSources}
					</a>
				)}
			</main>
		);
	if (state.kind === "signedOut")
		return (
			<SignIn
				ways={state.ways}
				hasEnded={state.hasEnded}
				farewell={state.farewell}
			/>
		);
	return (
		<Shell>
			{/* Another address is another page: nothing of the one before stays. */}
			<Failure key={`${namespace.value} ${path}`}>
				{path !== "" && <CurrentPage path={path} />}
			</Failure>
			<LeaveDialog />
		</Shell>
	);
}

function CurrentPage({ path }: { path: string }) {
	const found = pageOf(path);
	const [, setLoaded] = useState<ConsolePage>();
	const [error, setError] = useState<unknown>();
	const page = found?.page;
	useLayoutEffect(() => {
		if (!page || loadedPage(page)) return;
		let isWanted = true;
		loadPage(page).then(
			() => isWanted && setLoaded(page),
			(cause: unknown) => isWanted && setError(cause),
		);
		return () => {
			isWanted = false;
		};
	}, [page]);
	if (!found) return <NotFound path={path} />;
	if (boundTo.value) return <OtherNamespace own={boundTo.value} />;
	if (isUnknownNamespace.value) return <UnknownNamespace />;
	const { right, pattern } = found.page;
	if (!can(...right))
		return <NoRight what={words.shown[pattern.split("/")[0]!]!} />;
	if (error) throw error;
	const Loaded = loadedPage(found.page);
	return Loaded ? <Loaded params={found.params} /> : <Skeleton />;
}

function OtherNamespace({ own }: { own: string }) {
	return (
		<Page title={words.noRightTitle}>
			<p>{words.otherNamespace(own, namespace.value)}</p>
			<p>
				<a href={href(firstPage(), { namespace: own })}>
					{words.toNamespace(own)}
				</a>
			</p>
		</Page>
	);
}

function UnknownNamespace() {
	const [known] = session.value?.namespaces ?? [];
	return (
		<Page title={words.notFoundTitle}>
			<p>{words.noNamespace(namespace.value)}</p>
			{known && (
				<p>
					<a href={href(firstPage(), { namespace: known })}>
						{words.toNamespace(known)}
					</a>
				</p>
			)}
		</Page>
	);
}

function NoRight({ what }: { what: string }) {
	return (
		<Page title={words.noRightTitle}>
			<p>{words.noRight(what, namespace.value)}</p>
		</Page>
	);
}

/** A page that throws says so, and the others still work. After an upgrade, its file may be gone from the server. */
class Failure extends Component<
	{ children: ComponentChildren },
	{ error?: unknown; isFinal?: boolean }
> {
	override state: { error?: unknown; isFinal?: boolean } = {};
	readonly #left = new AbortController();

	static override getDerivedStateFromError(error: unknown) {
		return { error };
	}

	override componentDidCatch(error: unknown) {
		if (error instanceof MissingFile)
			this.setState({ isFinal: !reloadForFile(this.#left.signal) });
	}

	override componentWillUnmount() {
		this.#left.abort();
	}

	override render() {
		const { error, isFinal } = this.state;
		if (error === undefined) return this.props.children;
		const missing = isFinal ? words.stillMissing : words.missingFile;
		return (
			<Page title={words.pageBroken}>
				<p role="alert">
					{error instanceof MissingFile ? missing : String(error)}
				</p>
				<button type="button" onClick={() => location.reload()}>
					{words.reload}
				</button>
			</Page>
		);
	}
}

function LeaveDialog() {
	const answer = useSignal<((isSure: boolean) => void) | undefined>(undefined);
	useEffect(() => {
		askBeforeLeaving(
			() =>
				new Promise<boolean>((resolve) => {
					answer.value = resolve;
				}),
		);
		// The session may end while it asks. The form comes back with the next one.
		return () => answer.peek()?.(false);
	}, [answer]);
	const give = (isSure: boolean) => {
		answer.value?.(isSure);
		answer.value = undefined;
	};
	if (!answer.value) return null;
	return (
		<Dialog title={words.leaveTitle} onClose={() => give(false)}>
			<p>{words.leaveText}</p>
			<div class="actions">
				<button type="button" onClick={() => give(false)}>
					{words.stay}
				</button>
				<button type="button" class="button-danger" onClick={() => give(true)}>
					{words.leave}
				</button>
			</div>
		</Dialog>
	);
}
