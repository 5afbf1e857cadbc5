import { useState } from "preact/hooks";
import { isReady, live } from "../api/changes.ts";
import { ApiProblem } from "../api/problem.ts";
import { api } from "../api/request.ts";
import { can } from "../api/session.ts";
import { Conditions } from "../components/conditions.tsx";
import { DataTable } from "../components/data-table.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { NotFound } from "../components/not-found.tsx";
import { Page, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { Time } from "../components/time.tsx";
import { toast } from "../components/toasts.ts";
import type { Source } from "../generated/types.ts";
import { trackingPlans as words } from "../messages/tracking-plans.ts";
import { useOriginal } from "../resource/save.ts";
import { href, navigateFromHere } from "../router/navigation.ts";
import type { PageProps } from "../router/route.ts";
import { byKind, type KindCount, planNameOf } from "./plan-form.ts";
import { PlanForm } from "./plan-form-page.tsx";
import { PlanBadge } from "./plan-list.tsx";
import { Quarantine } from "./quarantine.tsx";
import { setPlan } from "./set-plan.ts";
import { SourceField } from "./source-field.tsx";

/** `tracking-plans/<name>`: who uses it, what differs from it, what is in quarantine, and the plan to edit. */
export function PlanPage({ params }: PageProps) {
	const name = params.name!;
	const plan = live("trackingplans").get(name);
	const sources = [...live("sources").values()];
	const users = sources.filter((source) => planNameOf(source) === name);
	if (!plan)
		return isReady("trackingplans") ? (
			<NotFound path={`tracking-plans/${name}`} />
		) : (
			<Page title={name} parents={[["tracking-plans", words.title]]}>
				<Skeleton />
			</Page>
		);
	return (
		<Page
			title={name}
			parents={[["tracking-plans", words.title]]}
			badge={<PlanBadge plan={plan} />}
		>
			{plan.displayName && <p class="quiet">{plan.displayName}</p>}
			<Users plan={name} users={users} sources={sources} />
			{users.length > 0 && <Violations sources={users} />}
			{users.length > 0 && can("operations", "create") && (
				<Quarantine sources={users.map((source) => source.name)} />
			)}
			<Conditions conditions={plan.conditions} />
			<section class="group" aria-labelledby="plan">
				<h2 id="plan">{words.edit}</h2>
				<Editor name={name} />
			</section>
			{can("trackingplans", "delete") && !plan.managedBy && (
				<div class="actions">
					<DeleteButton
						name={name}
						loss={<p>{words.deleteLoss}</p>}
						onDelete={async () => {
							const goOn = navigateFromHere();
							await api.delete(`tracking-plans/${encodeURIComponent(name)}`);
							toast(words.deleting(name));
							await goOn("tracking-plans");
						}}
					/>
				</div>
			)}
		</Page>
	);
}

/** A saved plan is loaded again, so that the form begins with what the API made of it. */
function Editor({ name }: { name: string }) {
	const [round, setRound] = useState(0);
	const read = useOriginal("TrackingPlan", name, round);
	const { answer: original, problem, retry } = read;
	if (problem)
		return <ProblemBox problem={problem} onRetry={retry} triesItself />;
	if (!original) return <Skeleton lines={12} />;
	return (
		<PlanForm
			key={original.etag ?? ""}
			original={original}
			initial={original.draft}
			onSaved={() => setRound(round + 1)}
		/>
	);
}

function Users({
	plan,
	users,
	sources,
}: {
	plan: string;
	users: readonly Source[];
	sources: readonly Source[];
}) {
	const [chosen, setChosen] = useState("");
	const [problem, setProblem] = useState<ApiProblem>();
	const others = sources.filter((source) => planNameOf(source) !== plan);
	const source = others.find(({ name }) => name === chosen);
	const before = source && planNameOf(source);
	const mayChange = can("sources", "patch");
	const change = async (...given: Parameters<typeof setPlan>) => {
		setProblem(undefined);
		try {
			await setPlan(...given);
			setChosen("");
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			setProblem(error);
		}
	};
	return (
		<section class="group" aria-labelledby="users">
			<h2 id="users">{words.sourcesTitle}</h2>
			{users.length === 0 ? (
				<p class="quiet">{words.noSources}</p>
			) : (
				<ul class="users">
					{users.map(({ name, managedBy }) => (
						<li key={name}>
							<a href={href(`sources/${name}`)}>{name}</a>{" "}
							{mayChange && !managedBy && (
								<button
									type="button"
									class="button-small"
									aria-label={words.removeFrom(name)}
									onClick={() => void change(name, null, plan)}
								>
									{words.remove}
								</button>
							)}
						</li>
					))}
				</ul>
			)}
			{problem && <ProblemBox problem={problem} />}
			{mayChange && others.length > 0 && (
				<form
					class="set-plan"
					onSubmit={(event) => {
						event.preventDefault();
						if (source && !source.managedBy)
							void change(source.name, plan, before ?? null);
					}}
				>
					<SourceField
						label={words.setFor}
						value={chosen}
						names={others.map(({ name }) => name)}
						onChange={setChosen}
					/>
					{before && <p class="help">{words.replaces(before)}</p>}
					{source?.managedBy ? (
						<p class="help">
							{words.managedSource(source.name, source.managedBy)}
						</p>
					) : (
						<div class="actions">
							<button type="submit" disabled={!source}>
								{words.set}
							</button>
						</div>
					)}
				</form>
			)}
		</section>
	);
}

function Violations({ sources }: { sources: readonly Source[] }) {
	const rows = byKind(
		sources.flatMap(({ deviations = [], otherDeviations }) => [
			...(deviations as KindCount[]),
			...(otherDeviations ? [{ kind: words.others, ...otherDeviations }] : []),
		]),
	);
	return (
		<section class="group">
			{rows.length === 0 ? (
				<>
					<h2>{words.violations}</h2>
					<p class="quiet">{words.noViolations}</p>
				</>
			) : (
				<DataTable
					caption={words.violations}
					isCaptionShown
					rows={rows}
					keyOf={({ kind }) => kind}
					columns={[
						{ key: "kind", title: words.kind, render: ({ kind }) => kind },
						{
							key: "annotated",
							title: words.annotated,
							isNumber: true,
							render: ({ annotated }) => annotated.toLocaleString("en"),
						},
						{
							key: "quarantined",
							title: words.quarantined,
							isNumber: true,
							render: ({ quarantined }) => quarantined.toLocaleString("en"),
						},
						{
							key: "last",
							title: words.lastEvent,
							render: ({ lastEventTime }) => <Time at={lastEventTime} />,
						},
					]}
				/>
			)}
			<p class="quiet">{words.violationsHelp}</p>
		</section>
	);
}
