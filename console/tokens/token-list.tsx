import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { usePages } from "../api/use-pages.ts";
import { DataTable } from "../components/data-table.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { EmptyState, Page, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { toast } from "../components/toasts.ts";
import type { Token } from "../generated/types.ts";
import { tokens as words } from "../messages/tokens.ts";
import { href, navigateFromHere } from "../router/navigation.ts";

/** `tokens`: who has access by a token of its own. */
export function TokenListPage() {
	const read = usePages<Token>("tokens", {}, 100);
	const { items, hasMore, more, problem, isLoading, retry } = read;
	const create = can("tokens", "create") && (
		<a class="button button-primary" href={href("tokens/new")}>
			{words.newToken}
		</a>
	);
	return (
		<Page title={words.title} actions={create}>
			<p class="quiet">{words.help}</p>
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{items.length === 0 ? (
				isLoading ? (
					<Skeleton />
				) : (
					!problem && (
						<EmptyState title={words.emptyTitle}>
							<p>{words.empty}</p>
						</EmptyState>
					)
				)
			) : (
				<DataTable
					caption={words.title}
					rows={items}
					keyOf={({ id }) => id}
					columns={[
						{
							key: "name",
							title: words.name,
							render: ({ name }) => <a href={href(`tokens/${name}`)}>{name}</a>,
						},
						{
							key: "scope",
							title: words.scope,
							render: ({ scope }) => words.scopeNames[scope] ?? scope,
						},
						{
							key: "status",
							title: words.status,
							render: ({ status }) => <StatusBadge status={status} />,
						},
						{
							key: "created",
							title: words.created,
							render: ({ createTime }) => <Time at={createTime} />,
						},
						{
							key: "expires",
							title: words.expires,
							render: (token) => <Expiry token={token} />,
						},
					]}
				/>
			)}
			{hasMore && (
				<div class="actions">
					<button type="button" disabled={isLoading} onClick={() => more()}>
						{words.more}
					</button>
				</div>
			)}
		</Page>
	);
}

export function Expiry({ token: { expireTime } }: { token: Token }) {
	return expireTime === undefined ? (
		<span>{words.never}</span>
	) : (
		<Time at={expireTime} />
	);
}

/** Revokes the token after its name was typed, and goes back to the list. */
export function RevokeButton({ name }: { name: string }) {
	return (
		<DeleteButton
			name={name}
			label={words.revoke}
			title={words.revokeTitle(name)}
			loss={<p>{words.revokeLoss}</p>}
			onDelete={async () => {
				const goOn = navigateFromHere();
				await api.delete(`tokens/${encodeURIComponent(name)}`);
				toast(words.revoked(name));
				await goOn("tokens");
			}}
		/>
	);
}
