import { useEffect, useState } from "preact/hooks";
import { ApiProblem, fieldError } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { CodeBlock } from "../components/code-block.tsx";
import {
	focusFirstError,
	SelectField,
	TextField,
} from "../components/field.tsx";
import { Page } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import type { IssuedToken, TokenCreate } from "../generated/types.ts";
import { tokens as words } from "../messages/tokens.ts";
import { navigate, useUnsaved } from "../router/navigation.ts";
import {
	emptyTokenDraft,
	type TokenDraft,
	tokenNameError,
	tokenRequest,
	tokenUsage,
} from "./token-form.ts";

const shownFields = ["name", "scope", "expiresInSeconds"];

/** `tokens/new`: the form, and then the token, once. */
export function NewToken() {
	const [draft, setDraft] = useState<TokenDraft>(emptyTokenDraft);
	const [nameError, setNameError] = useState<string>();
	const [problem, setProblem] = useState<ApiProblem>();
	const [isBusy, setBusy] = useState(false);
	const [issued, setIssued] = useState<IssuedToken>();
	useUnsaved(!issued && draft.name !== "");
	const set = (change: Partial<TokenDraft>) => {
		setNameError(undefined);
		setDraft({ ...draft, ...change });
	};
	const create = async (event: Event) => {
		event.preventDefault();
		const error = tokenNameError(draft.name);
		setNameError(error);
		if (error) return focusFirstError();
		if (isBusy) return;
		setBusy(true);
		setProblem(undefined);
		try {
			setIssued(await api.post<IssuedToken>("tokens", tokenRequest(draft)));
		} catch (failure) {
			if (!(failure instanceof ApiProblem)) throw failure;
			setProblem(failure);
			focusFirstError();
		}
		setBusy(false);
	};
	if (issued) return <Issued token={issued} />;
	return (
		<Page title={words.newToken} parents={[["tokens", words.title]]}>
			<form class="form" onSubmit={create} noValidate>
				{problem && <ProblemBox problem={problem} shownFields={shownFields} />}
				<TextField
					label={words.name}
					help={words.nameHelp}
					error={nameError ?? fieldError(problem, "name")}
					value={draft.name}
					onInput={(name) => set({ name })}
					autoComplete="off"
				/>
				<SelectField<TokenCreate["scope"]>
					label={words.scope}
					error={fieldError(problem, "scope")}
					value={draft.scope}
					options={(["read", "run", "edit"] as const).map(
						(scope) => [scope, words.scopes[scope]!] as const,
					)}
					onChange={(scope) => set({ scope })}
				/>
				<SelectField
					label={words.expiry}
					help={words.expiryHelp}
					error={fieldError(problem, "expiresInSeconds")}
					value={draft.expiry}
					options={Object.entries(words.expiries)}
					onChange={(expiry) => set({ expiry })}
				/>
				<div class="actions">
					<button type="submit" class="button-primary" disabled={isBusy}>
						{words.create}
					</button>
				</div>
			</form>
		</Page>
	);
}

function Issued({ token: { name, token = "" } }: { token: IssuedToken }) {
	const [isDone, setDone] = useState(false);
	useUnsaved(!isDone);
	// After the question above is gone, so that the page may be left.
	useEffect(() => {
		if (isDone) void navigate("tokens");
	}, [isDone]);
	const apiUrl = new URL("../v1", document.baseURI).href;
	return (
		<Page title={words.madeTitle(name)} parents={[["tokens", words.title]]}>
			<div class="notice notice-warning" role="status">
				<p>{words.shownOnce}</p>
			</div>
			<CodeBlock label={words.tokenItself} text={token} isWrapped />
			<CodeBlock
				label={words.usage}
				text={tokenUsage(apiUrl, token)}
				isWrapped
			/>
			<div class="actions">
				<button
					type="button"
					class="button-primary"
					onClick={() => setDone(true)}
				>
					{words.done}
				</button>
			</div>
		</Page>
	);
}
