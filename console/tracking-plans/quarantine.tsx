import { useState } from "preact/hooks";
import { DataTable } from "../components/data-table.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { Time } from "../components/time.tsx";
import { toast } from "../components/toasts.ts";
import type { Operation } from "../generated/types.ts";
import { components } from "../messages/components.ts";
import { trackingPlans as words } from "../messages/tracking-plans.ts";
import { href } from "../router/navigation.ts";
import { useOperation } from "./operation.ts";
import { SourceField } from "./source-field.tsx";

type InspectResult = NonNullable<Operation["inspect"]>;
type HeldEvent = InspectResult["page"][number];

const pageSize = 50;

/** The events of a Source that are stored apart: what is wrong with each, and a way out. */
export function Quarantine({ sources }: { sources: readonly string[] }) {
	const [source, setSource] = useState(sources.length === 1 ? sources[0]! : "");
	const [held, setHeld] = useState<{
		source: string;
		events: HeldEvent[];
		count: number;
		hasMore: boolean;
	}>();
	const [isAsking, setAsking] = useState(false);
	const inspect = useOperation(({ inspect: result, before: older }) => {
		if (!result) return;
		setHeld((shown) => ({
			source,
			events: older ? [...(shown?.events ?? []), ...result.page] : result.page,
			count: result.events,
			hasMore: result.hasMore ?? false,
		}));
	});
	const look = (before?: string) => {
		if (before === undefined) setHeld(undefined);
		void inspect.start({
			type: "Inspect",
			sourceRef: { name: source },
			limit: pageSize,
			...(before !== undefined && { before }),
		});
	};
	const release = useOperation(({ release: result }) => {
		if (!result) return;
		toast(words.released(result.events.toLocaleString("en")));
		look();
	});
	const startRelease = (eventIDs?: string[]) => {
		setAsking(false);
		void release.start({
			type: "Release",
			sourceRef: { name: held!.source },
			...(eventIDs && { filter: { eventIDs } }),
		});
	};
	const isBusy = inspect.isBusy || release.isBusy;
	const working = inspect.status ?? release.status;
	const failure = inspect.ended?.error ?? release.ended?.error;
	const count = held?.count.toLocaleString("en") ?? "";
	return (
		<section class="group" aria-labelledby="quarantine">
			<h2 id="quarantine">{words.quarantine}</h2>
			<p class="help">{words.quarantineHelp}</p>
			<SourceField
				label={`${words.quarantine}: ${words.source}`}
				value={source}
				names={sources}
				onChange={(name) => {
					setSource(name);
					setHeld(undefined);
				}}
			/>
			<div class="actions">
				<button
					type="button"
					disabled={source === "" || isBusy}
					onClick={() => look()}
				>
					{words.show}
				</button>
				{held && held.count > 0 && (
					<button
						type="button"
						disabled={isBusy}
						onClick={() => setAsking(true)}
					>
						{words.releaseAll}
					</button>
				)}
			</div>
			{inspect.problem && <ProblemBox problem={inspect.problem} />}
			{release.problem && <ProblemBox problem={release.problem} />}
			<p role="status">
				{working !== undefined
					? words.working(working)
					: failure
						? words.failed(failure.message)
						: held &&
							(held.count === 0
								? words.emptyQuarantine
								: words.inQuarantine(count))}
			</p>
			{held && held.events.length > 0 && (
				<DataTable
					caption={words.heldEvents}
					rows={held.events}
					keyOf={({ eventID }) => eventID}
					columns={[
						{
							key: "event",
							title: words.event,
							render: ({ eventID }) => (
								<a href={href(`sources/${held.source}`, { event: eventID })}>
									{eventID}
								</a>
							),
						},
						{
							key: "time",
							title: words.time,
							render: ({ timestamp }) => <Time at={timestamp} />,
						},
						{
							key: "type",
							title: words.type,
							render: ({ type = words.noType }) => type,
						},
						{
							key: "wrong",
							title: words.wrong,
							render: (event) => <Wrong event={event} />,
						},
						{
							key: "release",
							title: words.release,
							render: ({ eventID }) => (
								<button
									type="button"
									class="button-small"
									disabled={isBusy}
									aria-label={words.releaseOne(eventID)}
									onClick={() => startRelease([eventID])}
								>
									{words.release}
								</button>
							),
						},
					]}
				/>
			)}
			{held?.hasMore && (
				<div class="actions">
					<button
						type="button"
						disabled={isBusy}
						onClick={() => look(held.events.at(-1)!.eventID)}
					>
						{words.older}
					</button>
				</div>
			)}
			{isAsking && (
				<Dialog
					title={words.releaseTitle(count)}
					onClose={() => setAsking(false)}
				>
					<p>{words.releaseText(held!.source)}</p>
					<div class="actions">
						<button type="button" onClick={() => setAsking(false)}>
							{components.cancel}
						</button>
						<button
							type="button"
							class="button-danger"
							onClick={() => startRelease()}
						>
							{words.release}
						</button>
					</div>
				</Dialog>
			)}
		</section>
	);
}

function Wrong({
	event: { violations = [], otherViolations },
}: {
	event: HeldEvent;
}) {
	return (
		<ul>
			{violations.map(({ kind, path, message }) => (
				<li key={`${kind} ${path}`}>
					{kind} <code>{path}</code> {message}
				</li>
			))}
			{otherViolations !== undefined && (
				<li>{words.moreWrong(otherViolations)}</li>
			)}
		</ul>
	);
}
