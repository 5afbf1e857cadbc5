import { isReady, live } from "../api/changes.ts";
import { can } from "../api/session.ts";
import { DataTable } from "../components/data-table.tsx";
import { EmptyState, Page, Skeleton } from "../components/page.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import { href, navigate } from "../router/navigation.ts";

export function PipelineList() {
	const rows = [...live("pipelines").values()].sort((a, b) =>
		a.name < b.name ? -1 : 1,
	);
	const create = can("pipelines", "create") && (
		<button
			type="button"
			class="button-primary"
			onClick={() => void navigate("pipelines/new")}
		>
			{words.newPipeline}
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
									<a href={href(`pipelines/${name}`)}>{name}</a>
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
							key: "source",
							title: words.source,
							render: ({ sourceRef }) => (
								<a href={href(`sources/${sourceRef.name}`)}>{sourceRef.name}</a>
							),
						},
						{
							key: "destination",
							title: words.destination,
							render: ({ destinationRef, tableName }) => (
								<>
									<a href={href(`destinations/${destinationRef.name}`)}>
										{destinationRef.name}
									</a>
									{tableName && (
										<div class="quiet">
											<code>{tableName}</code>
										</div>
									)}
								</>
							),
						},
						{
							key: "last",
							title: words.lastRun,
							render: ({ lastRun }) =>
								lastRun ? (
									<a href={href(`runs/${lastRun.name}`)}>
										<StatusBadge status={lastRun.status ?? ""} />
									</a>
								) : (
									<span class="quiet">{words.none}</span>
								),
						},
						{
							key: "rows",
							title: words.rows,
							isNumber: true,
							render: ({ lastRun }) =>
								lastRun?.rows?.toLocaleString("en") ?? "",
						},
						{
							key: "next",
							title: words.nextRun,
							render: ({ nextRunTime }) =>
								nextRunTime ? (
									<Time at={nextRunTime} />
								) : (
									<span class="quiet">{words.none}</span>
								),
						},
					]}
				/>
			)}
		</Page>
	);
}
