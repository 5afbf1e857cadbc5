import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { NotFound } from "../components/not-found.tsx";
import { Page, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import type { Token } from "../generated/types.ts";
import { tokens as words } from "../messages/tokens.ts";
import type { PageProps } from "../router/route.ts";
import { Expiry, RevokeButton } from "./token-list.tsx";

/** `tokens/<name>`: what the token permits and for how long. The token itself nobody can read. */
export function TokenPage({ params }: PageProps) {
	const name = params.name!;
	const path = `tokens/${encodeURIComponent(name)}`;
	const read = useLoaded((signal) => api.get<Token>(path, { signal }), [path]);
	const { answer: token, problem, retry } = read;
	if (problem?.status === 404) return <NotFound path={`tokens/${name}`} />;
	return (
		<Page
			title={name}
			parents={[["tokens", words.title]]}
			badge={token && <StatusBadge status={token.status} />}
		>
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{!token && !problem && <Skeleton />}
			{token && (
				<dl class="facts">
					<div>
						<dt>{words.scope}</dt>
						<dd>{words.scopes[token.scope] ?? token.scope}</dd>
					</div>
					<div>
						<dt>{words.created}</dt>
						<dd>
							<Time at={token.createTime} inFull />
						</dd>
					</div>
					<div>
						<dt>{words.expires}</dt>
						<dd>
							<Expiry token={token} />
						</dd>
					</div>
				</dl>
			)}
			{token && can("tokens", "delete") && (
				<div class="actions">
					<RevokeButton name={name} />
				</div>
			)}
		</Page>
	);
}
