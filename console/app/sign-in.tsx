import { useEffect, useState } from "preact/hooks";
import { ApiProblem, type SignInWays } from "../api/problem.ts";
import { signIn } from "../api/session.ts";
import { TextField } from "../components/field.tsx";
import { shell, signInWords as words } from "../messages/shell.ts";
import { address, hasUnsaved } from "../router/navigation.ts";
import { addressText } from "../router/route.ts";
import { Waves } from "./shell.tsx";

/** The sign-in. It stands at the address that the visitor wanted, so that they get there. */
export function SignIn({
	ways,
	hasEnded,
	farewell,
}: {
	ways: SignInWays;
	hasEnded: boolean;
	farewell?: string | undefined;
}) {
	const [token, setToken] = useState("");
	const [error, setError] = useState<string>();
	const [isBusy, setBusy] = useState(false);
	useEffect(() => {
		document.title = `${words.title} · ${shell.product}`;
	}, []);
	// The provider's page would take the place of this one, and of what it keeps.
	const isElsewhere = hasUnsaved();
	const submit = async (event: Event) => {
		event.preventDefault();
		// A token copied from a terminal may be broken by its lines.
		const whole = token.replace(/\s+/g, "");
		if (!whole) return setError(words.needed);
		setBusy(true);
		try {
			await signIn({ token: whole });
		} catch (problem) {
			if (!(problem instanceof ApiProblem)) throw problem;
			setError(problem.message);
			setBusy(false);
		}
	};
	return (
		<main class="alone">
			<div class="card sign-in">
				<p class="brand">
					<Waves />
					{shell.product}
				</p>
				<h1>{words.title}</h1>
				{(hasEnded || farewell) && (
					<p class="notice" role="status">
						{farewell ?? words.hasEnded}
					</p>
				)}
				{spentCode.hasFailed && !hasEnded && (
					<p class="notice notice-bad" role="alert">
						<Marked text={words.codeInvalid} />
					</p>
				)}
				{ways.oidc && (
					<>
						<a
							class="button button-primary"
							href={oidcAddress()}
							target={isElsewhere ? "_blank" : undefined}
						>
							{words.oidc}
						</a>
						{isElsewhere && <p class="quiet">{words.oidcElsewhere}</p>}
						<p class="or">{words.or}</p>
					</>
				)}
				<form onSubmit={submit} noValidate>
					<TextField
						label={words.token}
						help={<Marked text={words.tokenHelp} />}
						error={error}
						type="password"
						value={token}
						onInput={setToken}
						autoComplete="off"
						isMonospace
					/>
					<button type="submit" class="button-primary" disabled={isBusy}>
						{words.signIn}
					</button>
				</form>
				{ways.code && (
					<p class="quiet">
						<Marked text={words.local} />
					</p>
				)}
			</div>
		</main>
	);
}

/** The provider's page takes the place of this one, so the API has to know where the visitor wants to be. */
function oidcAddress(): string {
	const { path, query } = address.value;
	return addressText("session/oidc", {
		page: addressText(path, Object.fromEntries(query)),
	});
}

const spentCode = { hasFailed: false };

/**
 * Spends the code in the address's fragment, which the browser sends to no server, and removes it from the address first. Returns
 * whether there was one that the API took.
 */
export async function spendCode(): Promise<boolean> {
	const code = location.hash.slice(1);
	if (!/^[\w-]{16,}$/.test(code)) return false;
	const url = new URL(location.href);
	url.hash = "";
	history.replaceState(history.state, "", url);
	try {
		await signIn({ code });
		return true;
	} catch (error) {
		if (!(error instanceof ApiProblem)) throw error;
		spentCode.hasFailed = true;
		return false;
	}
}

/** Text with `code` between backticks. */
function Marked({ text }: { text: string }) {
	return (
		<>
			{text
				.split("`")
				.map((part, i) => (i % 2 ? <code key={part}>{part}</code> : part))}
		</>
	);
}
