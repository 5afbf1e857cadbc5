import { isReady, live } from "../api/changes.ts";
import { can } from "../api/session.ts";
import { DataTable } from "../components/data-table.tsx";
import { EmptyState, Page, Skeleton } from "../components/page.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import type { TrackingPlan } from "../generated/types.ts";
import { trackingPlans as words } from "../messages/tracking-plans.ts";
import { href, navigate } from "../router/navigation.ts";

export function PlanList() {
	const rows = [...live("trackingplans").values()].sort((a, b) =>
		a.name < b.name ? -1 : 1,
	);
	const create = can("trackingplans", "create") && (
		<button
			type="button"
			class="button-primary"
			onClick={() => void navigate("tracking-plans/new")}
		>
			{words.newPlan}
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
									<a href={href(`tracking-plans/${name}`)}>{name}</a>
									{displayName && <div class="quiet">{displayName}</div>}
								</>
							),
						},
						{
							key: "ready",
							title: words.status,
							render: (plan) => <PlanBadge plan={plan} />,
						},
						{
							key: "types",
							title: words.eventTypes,
							isNumber: true,
							render: ({ eventTypes }) => eventTypes,
						},
						{
							key: "version",
							title: words.version,
							render: ({ version }) => version && <code>{version}</code>,
						},
						{
							key: "used",
							title: words.usedBy,
							isNumber: true,
							render: ({ usedBy = 0 }) => usedBy,
						},
					]}
				/>
			)}
		</Page>
	);
}

/** Whether every schema is valid, as the operator says. */
export function PlanBadge({ plan }: { plan: TrackingPlan }) {
	const ready = plan.conditions?.find(({ type }) => type === "Ready");
	if (!ready || ready.status === "Unknown")
		return <StatusBadge status="Pending" />;
	return ready.status === "True" ? (
		<StatusBadge status="Ready" label={words.ready} />
	) : (
		<StatusBadge status="NotReady" label={ready.reason} />
	);
}
