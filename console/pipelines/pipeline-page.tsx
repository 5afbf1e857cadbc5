import { useEffect, useState } from "preact/hooks";
import { anyTypesTableOf, latestViewOf } from "../../crds/table-name.ts";
import { isReady, live } from "../api/changes.ts";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { Conditions } from "../components/conditions.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { NotFound } from "../components/not-found.tsx";
import { ManagedNotice, Page, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import { toast } from "../components/toasts.ts";
import type {
	Pipeline,
	PipelinePreview,
	RunStart,
} from "../generated/types.ts";
import { pipelines as words } from "../messages/pipelines.ts";
import { draftOf, type ResourceView } from "../resource/draft.ts";
import { YamlPanel } from "../resource/yaml-panel.tsx";
import { href, namespace, navigateFromHere } from "../router/navigation.ts";
import type { PageProps } from "../router/route.ts";
import { RunButtons, startRun } from "../runs/run-now.tsx";
import { RunTable } from "../runs/run-table.tsx";
import { FoundByRuns } from "./found-by-runs.tsx";

/** `pipelines/<name>`: how it is, what it loads next, and its Runs. */
export function PipelinePage({ params }: PageProps) {
	const name = params.name!;
	const pipeline = live("pipelines").get(name);
	const [refused, setRefused] = useState<{
		problem: ApiProblem;
		body: RunStart;
	}>();
	if (!pipeline)
		return isReady("pipelines") ? (
			<NotFound path={`pipelines/${name}`} />
		) : (
			<Page title={name} parents={[["pipelines", words.title]]}>
				<Skeleton />
			</Page>
		);
	const { status = "Pending", managedBy } = pipeline;
	const mayRun = can("runs", "create");
	const actions = (
		<>
			{mayRun && (
				<RunButtons
					pipeline={name}
					onProblem={(problem, body = {}) =>
						setRefused(problem && { problem, body })
					}
				/>
			)}
			{can("pipelines", "update") && !managedBy && (
				<a class="button" href={href(`pipelines/${name}/edit`)}>
					{words.edit}
				</a>
			)}
		</>
	);
	const queue = async () => {
		try {
			await startRun(name, refused?.body, true);
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			setRefused({ problem: error, body: {} });
		}
	};
	return (
		<Page
			title={name}
			parents={[["pipelines", words.title]]}
			badge={<StatusBadge status={status} />}
			actions={actions}
		>
			{pipeline.displayName && <p class="quiet">{pipeline.displayName}</p>}
			<ManagedNotice tool={managedBy} />
			{refused && (
				<>
					<ProblemBox problem={refused.problem} />
					{refused.problem.code === "PipelineNotReady" && (
						<div class="actions">
							<button type="button" onClick={() => void queue()}>
								{words.startWhenReady}
							</button>
						</div>
					)}
				</>
			)}
			<Facts pipeline={pipeline} />
			<FoundByRuns
				pipeline={pipeline}
				mayChange={can("pipelines", "update") && !managedBy}
			/>
			<section class="group" aria-labelledby="runs">
				<div class="group-head">
					<h2 id="runs">{words.runs}</h2>
					<a href={href("runs", { pipeline: name })}>{words.allRuns}</a>
				</div>
				<RunTable
					filter={{ pipeline: name, status: "" }}
					pageSize={10}
					empty={<p class="quiet">{words.noRunsYet}</p>}
				/>
			</section>
			<Conditions conditions={pipeline.conditions} />
			<YamlPanel
				kind="Pipeline"
				draft={draftOf("Pipeline", pipeline as unknown as ResourceView)}
				namespace={namespace.value}
			/>
			{can("pipelines", "delete") && !managedBy && (
				<div class="actions">
					<DeleteButton
						name={name}
						loss={<p>{words.deleteLoss(pipeline.tableName ?? name)}</p>}
						onDelete={async () => {
							const goOn = navigateFromHere();
							await api.delete(`pipelines/${encodeURIComponent(name)}`);
							toast(words.deleting(name));
							await goOn("pipelines");
						}}
					/>
				</div>
			)}
		</Page>
	);
}

function Facts({ pipeline }: { pipeline: Pipeline }) {
	const preview = usePreview(pipeline);
	const { sourceRef, destinationRef, lastRun } = pipeline;
	const table = pipeline.tableName ?? preview?.table ?? "";
	return (
		<dl class="facts">
			<div>
				<dt>{words.source}</dt>
				<dd>
					<a href={href(`sources/${sourceRef.name}`)}>{sourceRef.name}</a>
				</dd>
			</div>
			<div>
				<dt>{words.destination}</dt>
				<dd>
					<a href={href(`destinations/${destinationRef.name}`)}>
						{destinationRef.name}
					</a>
				</dd>
			</div>
			<div>
				<dt>{words.table}</dt>
				<dd>
					<code>
						{pipeline.table?.perEventType ? anyTypesTableOf(table) : table}
					</code>
				</dd>
			</div>
			{pipeline.table?.latestBy && (
				<div>
					<dt>{words.latestView}</dt>
					<dd>
						<code>{latestViewOf(table)}</code>
					</dd>
				</div>
			)}
			{lastRun && (
				<div>
					<dt>{words.lastRun}</dt>
					<dd>
						<a href={href(`runs/${lastRun.name}`)}>
							<StatusBadge status={lastRun.status ?? ""} />
						</a>{" "}
						{lastRun.rows !== undefined &&
							`${lastRun.rows.toLocaleString("en")} ${words.rows.toLowerCase()}`}
					</dd>
				</div>
			)}
			{preview && (
				<>
					<div>
						<dt>{words.nextLoads}</dt>
						<dd>
							{preview.dates
								? words.datesFromTo(preview.dates.start, preview.dates.end)
								: words.nothingToLoad}
						</dd>
					</div>
					<div>
						<dt>{words.strategyTitle}</dt>
						<dd>
							{words.strategyWord[
								preview.strategy as keyof typeof words.strategyWord
							] ?? preview.strategy}
						</dd>
					</div>
					<div>
						<dt>{words.nextRuns}</dt>
						<dd>
							{preview.nextRuns.length === 0 ? (
								<span class="quiet">
									{pipeline.suspend ? words.suspended : words.noRuns}
								</span>
							) : (
								<ol class="times">
									{preview.nextRuns.map((at) => (
										<li key={at}>
											<Time at={at} />
										</li>
									))}
								</ol>
							)}
						</dd>
					</div>
				</>
			)}
		</dl>
	);
}

/** What the API says of the next Runs. It is asked again when the Pipeline or its last Run is another. */
function usePreview({ name, generation, lastRun }: Pipeline) {
	const [preview, setPreview] = useState<PipelinePreview>();
	useEffect(() => {
		const leaving = new AbortController();
		api
			.get<PipelinePreview>(`pipelines/${encodeURIComponent(name)}/preview`, {
				signal: leaving.signal,
			})
			.then(setPreview, (error: unknown) => {
				// The page says the rest without it.
				if (!leaving.signal.aborted && !(error instanceof ApiProblem))
					throw error;
			});
		return () => leaving.abort();
	}, [name, generation, lastRun?.name]);
	return preview;
}
