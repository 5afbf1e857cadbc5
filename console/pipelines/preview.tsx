import type { PipelineBodyColumn } from "../../crds/generated/types.ts";
import { Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import { type Draft, valueAt } from "../resource/draft.ts";
import { type PreviewCell, previewTable } from "./columns.ts";
import { followsEvents } from "./form.ts";
import type { RecentEvents } from "./recent-events.ts";

/** The latest events as the table would have them. */
export function Preview({
	draft,
	recent,
	followed,
	onRefresh,
}: {
	draft: Draft;
	recent: RecentEvents;
	/** The columns that earlier Runs have given to members of bodies. */
	followed: readonly PipelineBodyColumn[];
	onRefresh(): void;
}) {
	return (
		<section class="group" aria-labelledby="preview">
			<div class="group-head">
				<h2 id="preview">{words.previewTitle}</h2>
				{recent.state !== "none" && (
					<button type="button" class="button-small" onClick={onRefresh}>
						{words.refreshPreview}
					</button>
				)}
			</div>
			<p class="help">
				{valueAt(draft.spec, "filter") === undefined
					? words.previewHelp
					: words.previewFiltered}{" "}
				{followsEvents(draft) && words.previewEvolving(followed.length === 0)}
			</p>
			<Content draft={draft} recent={recent} followed={followed} />
		</section>
	);
}

function Content({
	draft,
	recent,
	followed,
}: Omit<Parameters<typeof Preview>[0], "onRefresh">) {
	if (recent.state === "none")
		return <p class="quiet">{words.previewNoSource}</p>;
	if (recent.state === "loading") return <Skeleton lines={3} />;
	if (recent.state === "failed")
		return (
			<ProblemBox problem={recent.problem} onRetry={recent.retry} triesItself />
		);
	if (recent.events.length === 0)
		return <p class="quiet">{words.previewEmpty}</p>;
	const { columns, rows } = previewTable(draft, recent.events, followed);
	return (
		<section
			class="table-box preview"
			// biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard (WCAG 2.1.1).
			tabIndex={0}
			aria-label={words.previewHelp}
		>
			<table>
				<caption class="visually-hidden">{words.previewHelp}</caption>
				<thead>
					<tr>
						{columns.map(({ name, type }) => (
							<th key={name} scope="col">
								{name} <span class="type">{type}</span>
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{rows.map((row, at) => (
						<tr key={recent.events[at]!.eventId}>
							{row.map((cell, column) => (
								<td
									key={columns[column]!.name}
									data-title={columns[column]!.name}
								>
									<Cell cell={cell} />
								</td>
							))}
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

function Cell({ cell: { text, isUnfit } }: { cell: PreviewCell }) {
	if (text !== undefined) return <code>{text}</code>;
	return (
		<span class="quiet">
			{words.nullValue}
			{isUnfit && <strong class="unfit"> {words.unfit}</strong>}
		</span>
	);
}
