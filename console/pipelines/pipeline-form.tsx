import { useState } from "preact/hooks";
import { pipelineForm as hints } from "../../crds/forms.ts";
import type { PipelineInferredColumns } from "../../crds/generated/types.ts";
import { live } from "../api/changes.ts";
import {
	CheckField,
	ListError,
	SelectField,
	TextField,
} from "../components/field.tsx";
import { forms } from "../messages/forms.ts";
import { pipelines as words } from "../messages/pipelines.ts";
import {
	type Draft,
	type FormContext,
	textAt,
	withField,
} from "../resource/draft.ts";
import { type FormProps, ResourceForm } from "../resource/resource-form.tsx";
import type { Original } from "../resource/save.ts";
import { SchemaFields } from "../resource/schema-fields.tsx";
import { ColumnFields } from "./column-fields.tsx";
import { EventFilter, OtherTables } from "./event-type-fields.tsx";
import {
	clashOf,
	followsEvents,
	formFields,
	generatedTable,
	hasPerEventType,
	integrationName,
	isTableField,
	latestBy,
	tickedTypes,
	toldTypes,
	withIntegrationName,
	withToldType,
} from "./form.ts";
import { LatestRows } from "./latest-rows.tsx";
import { Preview } from "./preview.tsx";
import { useRecentEvents } from "./recent-events.ts";
import { ScheduleFields } from "./schedule-fields.tsx";
import {
	type CapturedFields,
	followedColumns,
	tableColumns,
	tableFieldProblem,
} from "./table-columns.ts";

/** The form of a new Pipeline, or of one that is there. */
export function PipelineForm({ original, initial, onSaved }: FormProps) {
	const inferred = original && inferredColumns(original);
	return (
		<ResourceForm
			kind="Pipeline"
			original={original}
			initial={initial}
			fields={formFields}
			problemOf={(draft, path) => problemOf(draft, path, inferred)}
			onSaved={onSaved}
		>
			{(form) => (
				<Fields
					form={form}
					isNew={original === undefined}
					inferred={inferred}
				/>
			)}
		</ResourceForm>
	);
}

/** The columns that Runs have given to members of bodies. */
export function inferredColumns({
	view,
}: Original): PipelineInferredColumns | undefined {
	return view.inferredColumns as PipelineInferredColumns | undefined;
}

/** What is wrong before the API has seen it; what isn't filled in yet is no problem until then. */
function problemOf(
	draft: Draft,
	path: string,
	inferred: PipelineInferredColumns | undefined,
): string | undefined {
	const { name, spec } = draft;
	if (path === "table.schema" && followsEvents(draft))
		return clashOf(draft, path);
	if (path === "table.latestBy" && latestBy(draft).length > 0)
		return clashOf(draft, path);
	if (path === "table.name" && hasPerEventType(draft))
		return textAt(spec, path).length > 40 ? words.longTableName : undefined;
	if (isTableField(path))
		return tableFieldProblem(
			draft,
			path,
			warehouseTypeOf(draft),
			tableColumns(draft, capturedBy(draft), followedColumns(draft, inferred)),
		);
	if (path === "name" && name !== "")
		return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name) && name.length <= 40
			? undefined
			: words.nameProblem;
	if (path === "dateRange.end") {
		const end = textAt(spec, "dateRange.end");
		return /^(Today|\d{4}-\d{2}-\d{2}|)$/.test(end)
			? undefined
			: words.dateEndProblem;
	}
	return undefined;
}

/** The type of the Destination's warehouse, if the visitor sees it. */
function warehouseTypeOf({ spec }: Draft): string | undefined {
	return live("destinations").get(textAt(spec, "destinationRef.name"))?.type;
}

function capturedBy({ spec }: Draft): CapturedFields {
	return live("sources").get(textAt(spec, "sourceRef.name"))?.webhook ?? {};
}

function Fields({
	form,
	isNew,
	inferred,
}: {
	form: FormContext;
	isNew: boolean;
	inferred: PipelineInferredColumns | undefined;
}) {
	const { draft, onDraft, errorAt } = form;
	const { spec } = draft;
	const captured = capturedBy(draft);
	const { capturedHeaders = [] } = captured;
	const followed = followedColumns(draft, inferred);
	const [round, setRound] = useState(0);
	const recent = useRecentEvents(
		form.isReadOnly ? "" : textAt(spec, "sourceRef.name"),
		round,
	);
	const set = (path: string) => (text: string) =>
		onDraft(withField(draft, path, text === "" ? undefined : text));
	return (
		<>
			<section class="group" aria-labelledby="what">
				<h2 id="what">{words.what}</h2>
				<TextField
					label={words.integrationName}
					help={words.integrationHelp}
					error={
						errorAt("displayName") ??
						(draft.name === "" ? errorAt("name") : undefined)
					}
					value={integrationName(draft)}
					onInput={(text) => onDraft(withIntegrationName(draft, text, isNew))}
				/>
				{isNew && (
					<TextField
						label={words.resourceName}
						help={words.resourceHelp}
						isMonospace
						error={draft.name === "" ? undefined : errorAt("name")}
						value={draft.name}
						onInput={(name) => onDraft({ ...draft, name })}
					/>
				)}
				<ReferenceField
					label={words.source}
					names={[...live("sources").keys()]}
					value={textAt(spec, "sourceRef.name")}
					error={errorAt("sourceRef.name") ?? errorAt("sourceRef")}
					onChange={(name) => onDraft(withField(draft, "sourceRef", { name }))}
				/>
				<EventFilter form={form} capturedHeaders={capturedHeaders} />
				<ReferenceField
					label={words.destination}
					names={[...live("destinations").keys()]}
					value={textAt(spec, "destinationRef.name")}
					error={errorAt("destinationRef.name") ?? errorAt("destinationRef")}
					onChange={(name) =>
						onDraft(withField(draft, "destinationRef", { name }))
					}
				/>
				<TextField
					label={words.tableName}
					help={words.tableHelp(generatedTable(draft))}
					placeholder={generatedTable(draft)}
					isMonospace
					error={errorAt("table.name")}
					value={textAt(spec, "table.name")}
					onInput={set("table.name")}
				/>
				<OtherTables form={form} capturedHeaders={capturedHeaders} />
			</section>
			<ColumnFields
				form={form}
				recent={recent}
				warehouse={warehouseTypeOf(draft)}
			/>
			<LatestRows
				form={form}
				columns={tableColumns(draft, captured, followed)}
			/>
			{!form.isReadOnly && (
				<Preview
					draft={draft}
					recent={recent}
					followed={followed}
					onRefresh={() => setRound(round + 1)}
				/>
			)}
			<section class="group" aria-labelledby="existing">
				<h2 id="existing">{words.existing}</h2>
				<SchemaFields kind="Pipeline" hints={hints.existing} form={form} />
			</section>
			<section class="group" aria-labelledby="dates">
				<h2 id="dates">{words.dates}</h2>
				<SchemaFields kind="Pipeline" hints={hints.dates} form={form} />
			</section>
			<ScheduleFields form={form} />
			<Notifications form={form} />
		</>
	);
}

/** Whom the Runs' ends are told, and which. */
function Notifications({ form }: { form: FormContext }) {
	const { draft, onDraft, errorAt } = form;
	const ticked = tickedTypes(draft);
	const error = errorAt("notify.types");
	return (
		<section class="group" aria-labelledby="notify">
			<h2 id="notify">{forms.notify}</h2>
			<h3 id="told">{words.told}</h3>
			<ul class="choices" aria-labelledby="told">
				{toldTypes.map((type) => (
					<li key={type}>
						<CheckField
							label={words.toldTypes[type]}
							checked={ticked.includes(type)}
							onChange={(isTicked) =>
								onDraft(withToldType(draft, type, isTicked))
							}
						/>
					</li>
				))}
			</ul>
			<ListError error={error} />
			<SchemaFields kind="Pipeline" hints={hints.told} form={form} />
		</section>
	);
}

/** A resource that isn't in the list, because the visitor may not see it or it is gone, stays chosen. */
function ReferenceField({
	label,
	names,
	value,
	error,
	onChange,
}: {
	label: string;
	names: string[];
	value: string;
	error: string | undefined;
	onChange(name: string): void;
}) {
	const all = [...new Set(value === "" ? names : [...names, value])].sort();
	return (
		<SelectField
			label={label}
			error={error}
			value={value}
			options={[["", words.choose], ...all.map((one) => [one, one] as const)]}
			onChange={onChange}
		/>
	);
}
