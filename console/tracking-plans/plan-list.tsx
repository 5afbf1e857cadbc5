import { StatusBadge } from "../components/status-badge.tsx";
import type { TrackingPlan } from "../generated/types.ts";
import { trackingPlans as words } from "../messages/tracking-plans.ts";
import { ResourceList } from "../resource/resource-list.tsx";

/** `tracking-plans`. */
export function PlanList() {
	return (
		<ResourceList
			kind="trackingplans"
			path="tracking-plans"
			words={words}
			newTitle={words.newPlan}
			columns={[
				{
					key: "ready",
					title: words.status,
					render: (plan) => <PlanBadge plan={plan} />,
				},
				{
					key: "types",
					title: words.eventTypes,
					isNumber: true,
					sortBy: ({ eventTypes }) => eventTypes,
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
					sortBy: ({ usedBy = 0 }) => usedBy,
					render: ({ usedBy = 0 }) => usedBy,
				},
			]}
		/>
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
