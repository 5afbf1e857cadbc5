import { isReady, live } from "../api/changes.ts";
import { can } from "../api/session.ts";
import { DataTable } from "../components/data-table.tsx";
import { EmptyState, Page, Skeleton } from "../components/page.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { destinations as words } from "../messages/destinations.ts";
import { href, navigate } from "../router/navigation.ts";
import { placeOf } from "./form.ts";

export function DestinationList() {
	const rows = [...live("destinations").values()].sort((a, b) =>
		a.name < b.name ? -1 : 1,
	);
	const create = can("destinations", "create") && (
		<button
			type="button"
			class="button-primary"
			onClick={() => void navigate("destinations/new")}
		>
			{words.newDestination}
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
									<a href={href(`destinations/${name}`)}>{name}</a>
									{displayName && <div class="quiet">{displayName}</div>}
								</>
							),
						},
						{
							key: "status",
							title: words.status,
							render: ({ status = "Checking" }) => (
								<StatusBadge status={status} />
							),
						},
						{ key: "type", title: words.type, render: ({ type }) => type },
						{
							key: "where",
							title: words.where,
							render: (destination) => <code>{placeOf(destination)}</code>,
						},
						{
							key: "check",
							title: words.lastCheck,
							render: ({ lastCheck }) => <Time at={lastCheck?.time} />,
						},
					]}
				/>
			)}
		</Page>
	);
}
