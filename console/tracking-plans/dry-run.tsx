import { useState } from "preact/hooks";
import { DataTable } from "../components/data-table.tsx";
import { TextField } from "../components/field.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import type { Operation, OperationCreate } from "../generated/types.ts";
import { trackingPlans as words } from "../messages/tracking-plans.ts";
import type { Draft } from "../resource/draft.ts";
import { href } from "../router/navigation.ts";
import { useOperation } from "./operation.ts";
import { inlinePlan, lastDays } from "./plan-form.ts";
import { SourceField } from "./source-field.tsx";

type DryRunResult = NonNullable<Operation["dryRun"]>;

/** What the plan in the form would have done with a Source's stored events. */
export function DryRun({ draft }: { draft: Draft }) {
	const [source, setSource] = useState("");
	const [days, setDays] = useState("7");
	const operation = useOperation(() => {});
	const { ended, problem, isBusy, status } = operation;
	const start = () =>
		void operation.start({
			type: "DryRun",
			sourceRef: { name: source },
			dates: lastDays(Math.min(30, Math.max(1, Number(days) || 7)), Date.now()),
			plan: { inline: inlinePlan(draft) } as NonNullable<
				OperationCreate["plan"]
			>,
		});
	return (
		<section class="group" aria-labelledby="try">
			<h2 id="try">{words.tryTitle}</h2>
			<p class="help">{words.tryHelp}</p>
			<div class="beside">
				<SourceField
					label={`${words.tryTitle}: ${words.source}`}
					value={source}
					onChange={setSource}
				/>
				<TextField
					label={words.days}
					help={words.daysHelp}
					type="number"
					min="1"
					max="30"
					value={days}
					onInput={setDays}
				/>
			</div>
			<div class="actions">
				<button
					type="button"
					disabled={source === "" || isBusy}
					onClick={start}
				>
					{words.tryPlan}
				</button>
				{isBusy && (
					<button type="button" onClick={() => void operation.stop()}>
						{words.stop}
					</button>
				)}
			</div>
			{problem && <ProblemBox problem={problem} />}
			<div role="status">
				{isBusy && <p>{words.working(status!)}</p>}
				{ended?.error && (
					<p class="error">{words.failed(ended.error.message)}</p>
				)}
				{ended?.status === "Cancelled" && <p>{words.stopped}</p>}
				{ended?.dryRun && <Verdict result={ended.dryRun} />}
			</div>
			{ended?.dryRun && <Findings source={source} result={ended.dryRun} />}
		</section>
	);
}

function Verdict({ result }: { result: DryRunResult }) {
	const number = (value: number) => value.toLocaleString("en");
	const { quarantined, rejected } = result;
	return (
		<>
			<p>
				<strong>
					{quarantined + rejected === 0
						? words.nothingBlocked
						: words.blocked(number(quarantined), number(rejected))}
				</strong>
			</p>
			<dl class="facts">
				{(
					[
						[words.validated, result.events],
						[words.planned, result.planned],
						[words.annotated, result.annotated],
						[words.quarantined, quarantined],
						[words.rejected, rejected],
					] as const
				).map(([name, count]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{number(count)}</dd>
					</div>
				))}
			</dl>
		</>
	);
}

function Findings({
	source,
	result: { findings = [], otherFindings },
}: {
	source: string;
	result: DryRunResult;
}) {
	if (findings.length === 0) return null;
	return (
		<>
			<DataTable
				caption={words.findings}
				isCaptionShown
				rows={findings}
				keyOf={({ type, kind, path }) => `${type} ${kind} ${path}`}
				columns={[
					{
						key: "kind",
						title: words.kind,
						render: ({ kind }) => kind,
					},
					{
						key: "events",
						title: words.events,
						isNumber: true,
						render: ({ events }) => events.toLocaleString("en"),
					},
					{
						key: "type",
						title: words.type,
						render: ({ type = words.noType }) => type,
					},
					{
						key: "path",
						title: words.path,
						render: ({ path }) => <code>{path}</code>,
					},
					{
						key: "expected",
						title: words.problem,
						render: ({ message }) => message,
					},
					{
						key: "example",
						title: words.example,
						render: ({ example }) => (
							<a href={href(`sources/${source}`, { event: example })}>
								{example}
							</a>
						),
					},
				]}
			/>
			{otherFindings !== undefined && (
				<p class="quiet">{words.otherFindings(otherFindings)}</p>
			)}
		</>
	);
}
