import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { destinations as words } from "../messages/destinations.ts";
import { ResourceList } from "../resource/resource-list.tsx";
import { placeOf } from "./form.ts";

/** `destinations`. */
export function DestinationList() {
	return (
		<ResourceList
			kind="destinations"
			path="destinations"
			words={words}
			newTitle={words.newDestination}
			columns={[
				{
					key: "status",
					title: words.status,
					sortBy: ({ status = "Checking" }) => status,
					render: ({ status = "Checking" }) => <StatusBadge status={status} />,
				},
				{
					key: "type",
					title: words.type,
					sortBy: ({ type }) => type,
					render: ({ type }) => type,
				},
				{
					key: "where",
					title: words.where,
					render: (destination) => <code>{placeOf(destination)}</code>,
				},
				{
					key: "check",
					title: words.lastCheck,
					sortBy: ({ lastCheck }) => lastCheck?.time,
					render: ({ lastCheck }) => <Time at={lastCheck?.time} />,
				},
			]}
		/>
	);
}
