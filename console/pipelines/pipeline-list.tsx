import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import { ResourceList } from "../resource/resource-list.tsx";
import { href } from "../router/navigation.ts";

/** `pipelines`. */
export function PipelineList() {
	return (
		<ResourceList
			kind="pipelines"
			path="pipelines"
			words={words}
			newTitle={words.newPipeline}
			columns={[
				{
					key: "status",
					title: words.status,
					sortBy: ({ status = "Pending" }) => status,
					render: ({ status = "Pending" }) => <StatusBadge status={status} />,
				},
				{
					key: "source",
					title: words.source,
					sortBy: ({ sourceRef }) => sourceRef.name,
					render: ({ sourceRef }) => (
						<a href={href(`sources/${sourceRef.name}`)}>{sourceRef.name}</a>
					),
				},
				{
					key: "destination",
					title: words.destination,
					sortBy: ({ destinationRef }) => destinationRef.name,
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
					sortBy: ({ lastRun }) => lastRun?.status,
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
					sortBy: ({ lastRun }) => lastRun?.rows,
					render: ({ lastRun }) => lastRun?.rows?.toLocaleString("en") ?? "",
				},
				{
					key: "next",
					title: words.nextRun,
					sortBy: ({ nextRunTime }) => nextRunTime,
					render: ({ nextRunTime }) =>
						nextRunTime ? (
							<Time at={nextRunTime} />
						) : (
							<span class="quiet">{words.none}</span>
						),
				},
			]}
		/>
	);
}
