import { isReady, live } from "../api/changes.ts";
import { can } from "../api/session.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { DataTable } from "../components/data-table.tsx";
import { EmptyState, Page, Skeleton } from "../components/page.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { sources as words } from "../messages/sources.ts";
import { href, navigate } from "../router/navigation.ts";

/** `sources`. */
export function SourceList() {
	const rows = [...live("sources").values()].sort((a, b) =>
		a.name < b.name ? -1 : 1,
	);
	const create = can("sources", "create") && (
		<button
			type="button"
			class="button-primary"
			onClick={() => void navigate("sources/new")}
		>
			{words.newSource}
		</button>
	);
	return (
		<Page title={words.title} actions={create}>
			{!isReady.value ? (
				<Skeleton />
			) : rows.length === 0 ? (
				<EmptyState title={words.emptyTitle}>
					<p>{words.empty}</p>
				</EmptyState>
			) : (
				<DataTable
					caption={words.title}
					rows={rows}
					keyOf={({ name }) => name}
					columns={[
						{
							key: "name",
							title: words.name,
							render: ({ name, displayName }) => (
								<>
									<a href={href(`sources/${name}`)}>{name}</a>
									{displayName && <div class="quiet">{displayName}</div>}
								</>
							),
						},
						{
							key: "status",
							title: words.status,
							render: ({ status = "Pending" }) => (
								<StatusBadge status={status} />
							),
						},
						{
							key: "url",
							title: words.url,
							render: ({ name, webhookURL }) =>
								webhookURL ? (
									<CopyButton text={webhookURL} label={words.copyURL(name)} />
								) : (
									""
								),
						},
						{
							key: "events",
							title: words.events,
							isNumber: true,
							render: ({ counts }) =>
								(counts?.accepted ?? 0).toLocaleString("en"),
						},
						{
							key: "last",
							title: words.lastEvent,
							render: ({ lastEventTime }) => <Time at={lastEventTime} />,
						},
					]}
				/>
			)}
		</Page>
	);
}
