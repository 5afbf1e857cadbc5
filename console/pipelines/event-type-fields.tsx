import { useRef } from "preact/hooks";
import { pipelineForm as hints } from "../../crds/forms.ts";
import { otherTypesTableOf, quarantineTableOf } from "../../crds/table-name.ts";
import { CheckField, SelectField, TextField } from "../components/field.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import {
	type FormContext,
	textAt,
	valueAt,
	withField,
} from "../resource/draft.ts";
import { SchemaFields } from "../resource/schema-fields.tsx";
import {
	chosenTable,
	clashOf,
	eventTypes,
	hasPerEventType,
	typePlace,
	withEventTypes,
	withMatch,
	withPerEventType,
} from "./form.ts";

interface TypeFieldsProps {
	form: FormContext;
	/** The headers that the Source captures. */
	capturedHeaders: readonly string[];
}

/** Which events are loaded: by their type, and by a value in the body. */
export function EventFilter({ form, capturedHeaders }: TypeFieldsProps) {
	const { draft, onDraft, errorAt } = form;
	const emptied = useRef<unknown>(undefined);
	const types = eventTypes(draft);
	return (
		<>
			<TextField
				label={words.eventTypes}
				help={words.eventTypesHelp}
				rows={2}
				isMonospace
				error={errorAt("filter.types")}
				value={types}
				onInput={(text) => {
					const place = emptied.current;
					emptied.current =
						text === "" ? valueAt(draft.spec, "filter.eventType") : undefined;
					onDraft(withEventTypes(draft, text, place));
				}}
			/>
			{(types !== "" || typePlace(draft, "filter.eventType") !== "") && (
				<TypePlace
					path="filter.eventType"
					form={form}
					capturedHeaders={capturedHeaders}
				/>
			)}
			<div class="beside">
				<TextField
					label={words.matchPointer}
					help={words.matchPointerHelp}
					isMonospace
					error={errorAt("filter.match.bodyPointer")}
					value={textAt(draft.spec, "filter.match.bodyPointer")}
					onInput={(text) => onDraft(withMatch(draft, "bodyPointer", text))}
				/>
				<TextField
					label={words.matchEquals}
					help={words.matchEqualsHelp}
					isMonospace
					error={errorAt("filter.match.equals")}
					value={textAt(draft.spec, "filter.match.equals")}
					onInput={(text) => onDraft(withMatch(draft, "equals", text))}
				/>
			</div>
		</>
	);
}

/** Which tables there are beside the one: for each type of event, and for events in quarantine. */
export function OtherTables({ form, capturedHeaders }: TypeFieldsProps) {
	const { draft, onDraft, errorAt } = form;
	const isOn = hasPerEventType(draft);
	const clash = isOn ? undefined : clashOf(draft, "table.perEventType");
	const table = chosenTable(draft) || "<table>";
	const names = {
		others: otherTypesTableOf(table),
		quarantine: quarantineTableOf(table),
	};
	return (
		<>
			<CheckField
				label={words.perEventType}
				help={clash ?? words.perEventTypeHelp(table)}
				error={errorAt("table.perEventType")}
				checked={isOn}
				disabled={clash !== undefined}
				onChange={(next) => onDraft(withPerEventType(draft, next))}
			/>
			{isOn && (
				<>
					<TypePlace
						path="table.eventType"
						form={form}
						capturedHeaders={capturedHeaders}
					/>
					<SchemaFields
						kind="Pipeline"
						hints={hints.perEventType}
						{...{ form, names }}
					/>
				</>
			)}
			<SchemaFields
				kind="Pipeline"
				hints={hints.quarantine}
				{...{ form, names }}
			/>
		</>
	);
}

/** Where an event's type is: as others say, or a place that is named here. */
function TypePlace({
	path,
	form: { draft, onDraft, errorAt },
	capturedHeaders,
}: TypeFieldsProps & { path: keyof typeof words.typePlaces }) {
	const labels = words.typePlaces[path];
	const place = typePlace(draft, path);
	const own = errorAt(path);
	return (
		<div class="beside">
			<SelectField
				label={labels.where}
				error={place === "" ? own : undefined}
				value={place}
				options={[
					["", labels.otherwise],
					["bodyPointer", words.typeInBody],
					["header", words.typeInHeader],
				]}
				onChange={(next) =>
					onDraft(
						withField(draft, path, next === "" ? undefined : { [next]: "" }),
					)
				}
			/>
			{place !== "" && (
				<TextField
					label={labels[place]}
					help={
						place === "header"
							? words.typeHeaderHelp(capturedHeaders)
							: words.typePointerHelp
					}
					isMonospace
					placeholder={
						place === "header" ? (capturedHeaders[0] ?? "") : "/type"
					}
					error={errorAt(`${path}.${place}`) ?? own}
					value={textAt(draft.spec, `${path}.${place}`)}
					onInput={(text) =>
						onDraft(withField(draft, `${path}.${place}`, text))
					}
				/>
			)}
		</div>
	);
}
