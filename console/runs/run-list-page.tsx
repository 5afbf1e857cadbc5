import { live } from "../api/changes.ts";
import { SelectField } from "../components/field.tsx";
import { EmptyState, Page } from "../components/page.tsx";
import { runs as words } from "../messages/runs.ts";
import { address, setQuery } from "../router/navigation.ts";
import { RunCalendar } from "./run-calendar.tsx";
import { RunTable } from "./run-table.tsx";

const statuses = ["Pending", "Running", "Succeeded", "Failed", "Cancelled"];

/** `runs`: a list or a calendar, with filters that the address has. */
export function RunListPage() {
	const { query } = address.value;
	const pipeline = query.get("pipeline") ?? "";
	const status = statuses.find((one) => one === query.get("status")) ?? "";
	const date = /^\d{4}-\d{2}-\d{2}$/.exec(query.get("date") ?? "")?.[0];
	const isCalendar = query.get("view") === "calendar";
	const names = [...new Set([...live("pipelines").keys(), pipeline])]
		.filter((name) => name !== "")
		.sort();
	const filter = { pipeline, status };
	const isFiltered = pipeline !== "" || status !== "" || date !== undefined;
	return (
		<Page title={words.title}>
			<div class="filters">
				<SelectField
					label={words.pipeline}
					value={pipeline}
					options={[
						["", words.all],
						...names.map((name) => [name, name] as const),
					]}
					onChange={(name) => setQuery({ pipeline: name })}
				/>
				<SelectField
					label={words.status}
					value={status}
					options={[
						["", words.all],
						...statuses.map((one) => [one, one] as const),
					]}
					onChange={(one) => setQuery({ status: one })}
				/>
				<SelectField
					label={words.view}
					value={isCalendar ? "calendar" : "list"}
					options={[
						["list", words.list],
						["calendar", words.calendar],
					]}
					onChange={(view) =>
						setQuery({
							view: view === "list" ? undefined : view,
							date: undefined,
						})
					}
				/>
				{date && !isCalendar && (
					<button type="button" onClick={() => setQuery({ date: undefined })}>
						{words.filteredDay(date)} ×
					</button>
				)}
			</div>
			{isCalendar ? (
				<RunCalendar filter={filter} month={query.get("month") ?? undefined} />
			) : (
				<RunTable
					filter={filter}
					date={date}
					pageSize={100}
					empty={
						<EmptyState title={words.emptyTitle}>
							<p>{isFiltered ? words.emptyFiltered : words.empty}</p>
						</EmptyState>
					}
				/>
			)}
		</Page>
	);
}
