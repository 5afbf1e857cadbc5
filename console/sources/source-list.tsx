import { CopyButton } from "../components/copy-button.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time, useMinutes } from "../components/time.tsx";
import { sources as words } from "../messages/sources.ts";
import { ResourceList } from "../resource/resource-list.tsx";
import { currentRate } from "./activity.ts";

/** `sources`. */
export function SourceList() {
	const now = useMinutes();
	return (
		<ResourceList
			kind="sources"
			path="sources"
			words={words}
			newTitle={words.newSource}
			columns={[
				{
					key: "status",
					title: words.status,
					sortBy: ({ status = "Pending" }) => status,
					render: ({ status = "Pending" }) => <StatusBadge status={status} />,
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
					sortBy: ({ counts }) => counts?.accepted ?? 0,
					render: ({ counts }) => (counts?.accepted ?? 0).toLocaleString("en"),
				},
				{
					key: "rate",
					title: words.perMinute,
					isNumber: true,
					render: (source) => words.rate(currentRate(source, now)),
				},
				{
					key: "last",
					title: words.lastEvent,
					sortBy: ({ lastEventTime }) => lastEventTime,
					render: ({ lastEventTime }) => <Time at={lastEventTime} />,
				},
			]}
		/>
	);
}
