import { live } from "../api/changes.ts";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import type { EventReceipt } from "../generated/types.ts";
import { sources as words } from "../messages/sources.ts";
import { href } from "../router/navigation.ts";

type EventLoad = NonNullable<EventReceipt["loads"]>[number];

/** What each Pipeline did with an event: which Run loaded it into which table, and when, or why it isn't there. */
export function EventLoads({
	loads,
	withTimes = false,
}: {
	loads: readonly EventLoad[];
	withTimes?: boolean;
}) {
	if (loads.length === 0) return <span class="quiet">{words.notLoaded}</span>;
	return (
		<ul class="loads">
			{loads.map(({ pipeline, table, state, run, loadedTime }) => (
				<li key={pipeline}>
					<LoadState pipeline={pipeline} state={state} />{" "}
					<a href={href(`pipelines/${pipeline}`)}>{pipeline}</a>:{" "}
					<code>{table}</code>
					{run && (
						<>
							{" "}
							<a href={href(`runs/${run}`)}>{run}</a>
						</>
					)}
					{withTimes && loadedTime && (
						<>
							{" "}
							<Time at={loadedTime} />
						</>
					)}
				</li>
			))}
		</ul>
	);
}

function LoadState({ pipeline, state }: Pick<EventLoad, "pipeline" | "state">) {
	// No run of it begins until somebody has corrected it.
	if (
		state === "Waiting" &&
		live("pipelines").get(pipeline)?.status === "Error"
	)
		return <StatusBadge status="Error" label={words.waitsForPipeline} />;
	const label = words.loadStates[state as keyof typeof words.loadStates];
	return <StatusBadge status={state} label={label ?? state} />;
}
