import { useState } from "preact/hooks";
import { pipelineForm as hints } from "../../crds/forms.ts";
import type { PipelineBodyColumn } from "../../crds/generated/types.ts";
import {
	CheckField,
	ListError,
	SelectField,
	TextField,
} from "../components/field.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import { type FormContext, numberOf } from "../resource/draft.ts";
import { SchemaFields } from "../resource/schema-fields.tsx";
import { columnTypes, suggestedColumns } from "./columns.ts";
import {
	bodyColumns,
	chosenTable,
	clashOf,
	eventColumns,
	followsEvents,
	strategyOf,
	tableFields,
	tickedColumns,
	withBodyColumns,
	withColumn,
	withEvolve,
	withType,
} from "./form.ts";
import type { RecentEvents } from "./recent-events.ts";
import { ZoneField } from "./schedule-fields.tsx";

/**
 * The table's columns: those that every event has, and values of the body.
 * @param warehouse the type of the Destination, if the visitor sees it
 */
export function ColumnFields({
	form,
	recent,
	warehouse,
}: {
	form: FormContext;
	recent: RecentEvents;
	warehouse: string | undefined;
}) {
	const { draft, onDraft, errorAt } = form;
	const ticked = tickedColumns(draft);
	const error = errorAt("table.columns");
	return (
		<>
			<fieldset class="group">
				<legend>{words.columns}</legend>
				<p class="help">{words.columnsHelp}</p>
				{eventColumns.map(({ id, type }) => (
					<CheckField
						key={id}
						label={`${words.columnNames[id]} (${type})`}
						help={words.columnHelp[id]}
						checked={ticked.includes(id)}
						onChange={(isTicked) => onDraft(withColumn(draft, id, isTicked))}
					/>
				))}
				<ListError error={error} />
				<p class="notice" aria-live="polite">
					<span>
						<strong>{words.strategyTitle}.</strong>{" "}
						{words.strategy[strategyOf(draft)]}
					</span>
				</p>
				<SchemaFields
					kind="Pipeline"
					hints={Object.fromEntries(tableFields(draft, warehouse))}
					form={form}
				/>
			</fieldset>
			<BodyColumns form={form} recent={recent} />
		</>
	);
}

function BodyColumns({
	form,
	recent,
}: {
	form: FormContext;
	recent: RecentEvents;
}) {
	const { draft, onDraft, errorAt } = form;
	const chosen = bodyColumns(draft);
	const error = errorAt("table.bodyColumns");
	const evolves = followsEvents(draft);
	const clash = evolves ? undefined : clashOf(draft, "table.schema");
	const replace = (at: number, column: PipelineBodyColumn | undefined) =>
		onDraft(
			withBodyColumns(
				draft,
				column ? chosen.with(at, column) : chosen.toSpliced(at, 1),
			),
		);
	return (
		<fieldset class="group">
			<legend>{words.bodyColumns}</legend>
			<p class="help">{words.bodyColumnsHelp}</p>
			<CheckField
				label={words.evolve}
				help={clash ?? words.evolveHelp}
				error={errorAt("table.schema")}
				checked={evolves}
				disabled={clash !== undefined}
				onChange={(isOn) => onDraft(withEvolve(draft, isOn))}
			/>
			<Suggestions
				recent={recent}
				chosen={chosen}
				onChosen={(columns) => onDraft(withBodyColumns(draft, columns))}
			/>
			{chosen.map((column, at) => (
				<ColumnRow
					key={at}
					column={column}
					errorAt={(field) => errorAt(`table.bodyColumns[${at}].${field}`)}
					onColumn={(next) => replace(at, next)}
				/>
			))}
			<ListError error={error} />
			<SchemaFields
				kind="Pipeline"
				hints={hints.rejectedValues}
				names={{ table: chosenTable(draft) || "<table>" }}
				form={form}
			/>
			<div class="actions">
				<button
					type="button"
					onClick={() =>
						onDraft(
							withBodyColumns(draft, [
								...chosen,
								{ name: "", bodyPointer: "", type: "String" },
							]),
						)
					}
				>
					{words.addColumn}
				</button>
			</div>
		</fieldset>
	);
}

function ColumnRow({
	column,
	errorAt,
	onColumn,
}: {
	column: PipelineBodyColumn;
	errorAt(field: string): string | undefined;
	onColumn(column: PipelineBodyColumn | undefined): void;
}) {
	const { name = "", bodyPointer = "", type = "", format = "RFC3339" } = column;
	const set = (field: string) => (value: string | number | undefined) => {
		const { [field as keyof PipelineBodyColumn]: _, ...others } = column;
		onColumn(
			value === undefined || value === ""
				? (others as PipelineBodyColumn)
				: { ...column, [field]: value },
		);
	};
	return (
		<div class="column-row">
			<TextField
				label={words.columnName}
				isMonospace
				value={name}
				error={errorAt("name")}
				onInput={(text) => onColumn({ ...column, name: text })}
			/>
			<TextField
				label={words.bodyPointer}
				isMonospace
				value={bodyPointer}
				placeholder="/order/id"
				error={errorAt("bodyPointer")}
				onInput={(text) => onColumn({ ...column, bodyPointer: text })}
			/>
			<SelectField
				label={words.columnType}
				value={type}
				error={errorAt("type")}
				options={[
					...columnTypes.map((one) => [one, one] as const),
					["", words.typeOfPlan],
				]}
				onChange={(next) => onColumn(withType(column, next))}
			/>
			{type === "Decimal" && (
				<>
					<TextField
						label={words.precision}
						type="number"
						value={String(column.precision ?? "")}
						placeholder="38"
						error={errorAt("precision")}
						onInput={(text) => set("precision")(numberOf(text))}
					/>
					<TextField
						label={words.scale}
						type="number"
						value={String(column.scale ?? "")}
						placeholder="9"
						error={errorAt("scale")}
						onInput={(text) => set("scale")(numberOf(text))}
					/>
				</>
			)}
			{type === "Timestamp" && (
				<SelectField
					label={words.format}
					value={format}
					error={errorAt("format")}
					options={[
						...(["RFC3339", "UnixSeconds", "UnixMillis"] as const),
						...(["RFC2822", "Local"] as const),
					].map((one) => [one, one])}
					onChange={(next) => {
						const { timeZone, ...others } = column;
						onColumn({
							...others,
							format: next,
							...(next === "Local" && { timeZone: timeZone ?? "UTC" }),
						});
					}}
				/>
			)}
			{type === "Timestamp" && format === "Local" && (
				<ZoneField
					label={words.formatZone}
					value={column.timeZone ?? ""}
					error={errorAt("timeZone")}
					onInput={set("timeZone")}
				/>
			)}
			<button
				type="button"
				class="button-small"
				aria-label={words.removeColumn(name || bodyPointer)}
				onClick={() => onColumn(undefined)}
			>
				×
			</button>
		</div>
	);
}

function Suggestions({
	recent,
	chosen,
	onChosen,
}: {
	recent: RecentEvents;
	chosen: readonly PipelineBodyColumn[];
	onChosen(columns: PipelineBodyColumn[]): void;
}) {
	const [wasEmpty] = useState(chosen.length === 0);
	if (recent.state !== "ready" || recent.events.length === 0) return null;
	if (!recent.hasBodies) return <p class="quiet">{words.noBodies}</p>;
	const suggested = suggestedColumns(
		recent.events.flatMap(({ body }) => (body === undefined ? [] : [body])),
	);
	if (suggested.length === 0) return <p class="quiet">{words.noSuggestions}</p>;
	const isChosen = (pointer: string) =>
		chosen.some(({ bodyPointer }) => bodyPointer === pointer);
	return (
		<details class="suggestions" open={wasEmpty}>
			<summary>{words.suggestions}</summary>
			<p class="help">{words.suggestionsHelp(recent.events.length)}</p>
			<ul>
				{suggested.map(({ column, example }) => (
					<li key={column.bodyPointer}>
						<CheckField
							label={`${column.bodyPointer} (${column.type})`}
							help={example}
							checked={isChosen(column.bodyPointer)}
							onChange={(isTicked) =>
								onChosen(
									isTicked
										? [...chosen, column]
										: chosen.filter(
												({ bodyPointer }) => bodyPointer !== column.bodyPointer,
											),
								)
							}
						/>
					</li>
				))}
			</ul>
		</details>
	);
}
