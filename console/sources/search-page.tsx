import { useState } from "preact/hooks";
import { live } from "../api/changes.ts";
import { api } from "../api/request.ts";
import { useLoaded } from "../api/use-loaded.ts";
import { DataTable } from "../components/data-table.tsx";
import { focusFirstError, TextField } from "../components/field.tsx";
import { Page } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { StatusBadge } from "../components/status-badge.tsx";
import { Time } from "../components/time.tsx";
import type { EventReceipt } from "../generated/types.ts";
import { search as words } from "../messages/search.ts";
import { address, href, namespace, setQuery } from "../router/navigation.ts";
import { eventIdIn } from "./event-text.ts";

/** `search`: an event of the namespace by its id, and where it went. The address has the id, so that a finding can be shared. */
export function SearchPage() {
	const id = address.value.query.get("event") ?? "";
	const [text, setText] = useState(id);
	const [error, setError] = useState<string>();
	/** Another number asks once more for what was asked before. */
	const [attempt, setAttempt] = useState(0);
	// A Run that ends may have loaded it.
	const runsEnded = [...live("runs").values()].filter(
		({ status }) => status === "Succeeded",
	).length;
	const read = useLoaded(
		async (signal) =>
			id === ""
				? undefined
				: api.get<EventReceipt>(`events/${encodeURIComponent(id)}`, { signal }),
		[id, namespace.value, attempt, runsEnded],
	);
	const { answer, problem, retry } = read;
	const receipt = answer?.eventId === id ? answer : undefined;
	const isBusy = id !== "" && read.isLoading;
	const submit = (event: Event) => {
		event.preventDefault();
		const wanted = eventIdIn(text);
		setError(wanted ? undefined : words.invalid);
		if (!wanted) return focusFirstError();
		setText(wanted);
		setQuery({ event: wanted });
		setAttempt(attempt + 1);
	};
	return (
		<Page title={words.title}>
			<form class="form" onSubmit={submit} noValidate>
				<TextField
					label={words.field}
					help={words.help}
					error={error}
					type="search"
					value={text}
					onInput={setText}
					isMonospace
				/>
				<div class="actions">
					<button type="submit" class="button-primary" disabled={isBusy}>
						{words.button}
					</button>
				</div>
			</form>
			<p role="status">
				{isBusy ? words.searching : receipt && words.found(receipt.source)}
			</p>
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{receipt && <Found receipt={receipt} />}
		</Page>
	);
}

function Found({ receipt }: { receipt: EventReceipt }) {
	const { eventId, source, time, state, type, bytes, loads } = receipt;
	return (
		<section class="group" aria-label={eventId}>
			<dl class="facts">
				<div>
					<dt>{words.source}</dt>
					<dd>
						<a href={href(`sources/${source}`)}>{source}</a>
					</dd>
				</div>
				<div>
					<dt>{words.state}</dt>
					<dd>
						<StatusBadge status={state} label={words.states[state] ?? state} />
					</dd>
				</div>
				<div>
					<dt>{words.received}</dt>
					<dd>
						<Time at={time} inFull />
					</dd>
				</div>
				<div>
					<dt>{words.type}</dt>
					<dd>{type ?? words.noType}</dd>
				</div>
				<div>
					<dt>{words.size}</dt>
					<dd>{words.bytes(bytes)}</dd>
				</div>
			</dl>
			<div class="actions">
				<a class="button" href={href(`sources/${source}`, { event: eventId })}>
					{words.open}
				</a>
			</div>
			{loads === undefined ? (
				<p class="quiet">{words.hiddenTables}</p>
			) : loads.length === 0 ? (
				<p class="quiet">{words.noTables}</p>
			) : (
				<Loads loads={loads} />
			)}
		</section>
	);
}

function Loads({ loads }: { loads: NonNullable<EventReceipt["loads"]> }) {
	return (
		<DataTable
			caption={words.tables}
			rows={loads}
			keyOf={({ pipeline }) => pipeline}
			columns={[
				{
					key: "table",
					title: words.table,
					render: ({ table }) => <code>{table}</code>,
				},
				{
					key: "pipeline",
					title: words.pipeline,
					render: ({ pipeline }) => (
						<a href={href(`pipelines/${pipeline}`)}>{pipeline}</a>
					),
				},
				{
					key: "state",
					title: words.state,
					render: ({ state, filtered }) => {
						const label = words.states[state] ?? state;
						return (
							<StatusBadge
								status={state}
								label={filtered ? words.ifFiltered(label) : label}
							/>
						);
					},
				},
				{
					key: "run",
					title: words.run,
					render: ({ run, loadedBefore }) =>
						run ? (
							<a href={href(`runs/${run}`)}>{run}</a>
						) : (
							loadedBefore && words.removedRun
						),
				},
				{
					key: "when",
					title: words.when,
					render: ({ loadedTime, loadedBefore }) => (
						<Time at={loadedTime ?? loadedBefore} />
					),
				},
			]}
		/>
	);
}
