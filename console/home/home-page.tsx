import { isReady, live } from "../api/changes.ts";
import { can } from "../api/session.ts";
import { CodeBlock } from "../components/code-block.tsx";
import { DataTable } from "../components/data-table.tsx";
import { Page, Skeleton } from "../components/page.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { home as words } from "../messages/home.ts";
import { href, namespace } from "../router/navigation.ts";
import { DayBars } from "./day-bars.tsx";
import { firstSteps, hasRows, queryOf } from "./first-steps.ts";
import { type Road, roadsOf, type SeenAccount } from "./health.ts";

/** `home`: whether everything is all right, and what to do where it isn't. */
export function HomePage() {
	const kinds = ["sources", "pipelines", "destinations"] as const;
	if (!kinds.every((kind) => isReady(kind) || !can(kind, "list")))
		return (
			<Page title={words.title}>
				<Skeleton />
			</Page>
		);
	const account: SeenAccount = {
		sources: live("sources"),
		pipelines: can("pipelines", "list") ? live("pipelines") : undefined,
		destinations: can("destinations", "list")
			? live("destinations")
			: undefined,
		can,
	};
	const roads = roadsOf(account);
	const sources = [...account.sources.values()].sort((a, b) =>
		a.name < b.name ? -1 : 1,
	);
	return (
		<Page title={words.title}>
			<Steps account={account} />
			{roads.length > 0 && <Roads roads={roads} />}
			{sources.length > 0 && can("sources/events", "get") && (
				<DayBars sources={sources} />
			)}
		</Page>
	);
}

function Steps({ account }: { account: SeenAccount }) {
	const steps = firstSteps(account);
	if (steps.length === 0) return null;
	const next = steps.find(({ isDone }) => !isDone);
	return (
		<section class="group" aria-labelledby="steps">
			<h2 id="steps">{words.stepsTitle}</h2>
			<ol class="steps">
				{steps.map((step) => {
					const { name, isDone, to, query = {} } = step;
					return (
						<li key={name}>
							<StatusBadge
								status={isDone ? "Ready" : "Pending"}
								label={isDone ? words.done : words.open}
								tone={isDone ? "good" : "quiet"}
							/>{" "}
							{step === next ? (
								<a href={href(to, query)}>{words.steps[name]}</a>
							) : (
								words.steps[name]
							)}
						</li>
					);
				})}
			</ol>
			<Query account={account} />
		</section>
	);
}

function Query({ account }: { account: SeenAccount }) {
	const [pipeline] = account.pipelines?.values() ?? [];
	const destination =
		pipeline && account.destinations?.get(pipeline.destinationRef.name);
	const query =
		destination &&
		hasRows(pipeline) &&
		queryOf(pipeline, destination, namespace.value);
	if (!query) return null;
	return (
		<>
			<CodeBlock text={query} label={words.queryTitle} isWrapped />
			<p class="quiet">{words.queryHelp}</p>
		</>
	);
}

function Roads({ roads }: { roads: readonly Road[] }) {
	const worst = (tone: string) =>
		roads.filter(({ findings }) => findings[0]?.tone === tone).length;
	const counts = {
		bad: worst("bad"),
		warning: worst("warning"),
		busy: worst("busy"),
	};
	return (
		<div class="group">
			<h2>{words.roadsTitle}</h2>
			<p role="status">{words.sum(counts, roads.length)}</p>
			<DataTable
				caption={words.roadsTitle}
				rows={roads}
				keyOf={({ source, pipeline }) =>
					`${source?.name ?? ""} ${pipeline?.name ?? ""}`
				}
				columns={[
					{
						key: "source",
						title: words.source,
						render: ({ source, pipeline }) => (
							<Named
								at="sources"
								name={source?.name ?? pipeline?.sourceRef.name}
							/>
						),
					},
					{
						key: "pipeline",
						title: words.pipeline,
						render: ({ pipeline }) => (
							<Named at="pipelines" name={pipeline?.name} />
						),
					},
					{
						key: "destination",
						title: words.destination,
						render: ({ pipeline }) => (
							<Named at="destinations" name={pipeline?.destinationRef.name} />
						),
					},
					{
						key: "run",
						title: words.lastRun,
						render: ({ pipeline }) =>
							pipeline?.lastRun ? (
								<a href={href(`runs/${pipeline.lastRun.name}`)}>
									<StatusBadge status={pipeline.lastRun.status} />
								</a>
							) : (
								<span class="quiet">{words.nobody}</span>
							),
					},
					{ key: "health", title: words.health, render: Health },
				]}
			/>
		</div>
	);
}

function Named({ at, name }: { at: string; name: string | undefined }) {
	return name === undefined ? (
		<span class="quiet">{words.nobody}</span>
	) : (
		<a href={href(`${at}/${name}`)}>{name}</a>
	);
}

function Health({ findings }: Road) {
	const [worst] = findings;
	if (!worst)
		return <StatusBadge status="Ready" label={words.well} tone="good" />;
	return (
		<>
			<StatusBadge
				status={worst.tone}
				label={words.tones[worst.tone]}
				tone={worst.tone}
			/>
			<ul class="findings">
				{findings.map(({ text, to, query = {}, action }) => (
					<li key={text}>
						{text} <a href={href(to, query)}>{action}</a>
					</li>
				))}
			</ul>
		</>
	);
}
