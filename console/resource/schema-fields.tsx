import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { choicesOf } from "../../crds/fields.ts";
import type { Schema } from "../../crds/resource-schema.ts";
import type { FieldHint } from "../../packages/warehouses/definition/definition.ts";
import {
	CheckField,
	ListError,
	SelectField,
	TextField,
} from "../components/field.tsx";
import { forms as words } from "../messages/forms.ts";
import {
	type FormContext,
	type FormKind,
	textAt,
	valueAt,
	withField,
} from "./draft.ts";
import {
	formOf,
	otherFields,
	schemaAt,
	textOfValue,
	valueOfText,
} from "./field-text.ts";
import { schemaOf } from "./schema.ts";

/** Fields of a kind as its CRD describes them, by their paths in the spec, each with what people need beside that. */
export function SchemaFields({
	kind,
	hints,
	form,
	names = {},
}: {
	kind: FormKind;
	hints: Readonly<Record<string, FieldHint>>;
	form: FormContext;
	/** What stands in a help for a word in braces. */
	names?: Readonly<Record<string, string>>;
}) {
	const filled = (text: string) =>
		text.replace(/\{(\w+)\}/g, (all, name) => names[name] ?? all);
	return (
		<OfSchema kind={kind}>
			{(spec) =>
				Object.entries(hints).map(([path, hint]) => (
					<SchemaField
						key={path}
						path={path}
						schema={schemaAt(spec, path)}
						form={form}
						hint={{ ...hint, help: hint.help && filled(hint.help) }}
					/>
				))
			}
		</OfSchema>
	);
}

interface OtherFieldsProps {
	kind: FormKind;
	form: FormContext;
	/** The paths of the fields that the form has by itself. */
	own: readonly string[];
}

/** Every field of the kind that the form has none of its own for. */
export function OtherFields(props: OtherFieldsProps) {
	const [wasOpened, setOpened] = useState(false);
	return (
		<details
			class="yaml"
			onToggle={(event) => event.currentTarget.open && setOpened(true)}
		>
			<summary>{words.otherFields}</summary>
			{wasOpened && <Others {...props} />}
		</details>
	);
}

function Others({ kind, form, own }: OtherFieldsProps) {
	return (
		<OfSchema kind={kind}>
			{(spec) => (
				<div class="group">
					{otherFields(spec, form.draft.spec, own).map(({ path, schema }) => (
						<SchemaField key={path} path={path} schema={schema} form={form} />
					))}
				</div>
			)}
		</OfSchema>
	);
}

/** What the schema of a kind's spec makes, once it is loaded. A form without these fields would look complete. */
function OfSchema({
	kind,
	children,
}: {
	kind: FormKind;
	children: (spec: Schema) => ComponentChildren;
}) {
	const [schema, setSchema] = useState<Schema>();
	const [error, setError] = useState<unknown>();
	useEffect(() => void schemaOf(kind).then(setSchema, setError), [kind]);
	const spec = schema?.properties?.spec;
	if (spec) return <>{children(spec)}</>;
	return <ListError error={error ? words.fieldsNotLoaded : undefined} />;
}

/** A field by its schema: how it is written, its bounds, its values, and what it is. */
function SchemaField({
	path,
	schema,
	hint = { label: path, help: schema.description },
	form: { draft, onDraft, errorAt },
}: {
	path: string;
	schema: Schema;
	hint?: FieldHint;
	form: FormContext;
}) {
	const value = valueAt(draft.spec, path);
	// What somebody types stays as typed, while the draft has what it means.
	const [typed, setTyped] = useState<{ text: string; value: unknown }>();
	const shown = typed?.value === value ? typed?.text : undefined;
	const text = shown ?? textOfValue(schema, value);
	const write = (next: unknown) => onDraft(withField(draft, path, next));
	const set = (next: string) => {
		const value = valueOfText(schema, next);
		setTyped({ text: next, value });
		write(value);
	};
	const { label, help, choices = {}, isTick, isTime } = hint;
	const about = { label, help, error: errorAt(path) };
	const { minimum, maximum, default: preset } = schema;
	if (isTick)
		return (
			<CheckField
				{...about}
				checked={textAt(draft.spec, path) === "true"}
				onChange={(isOn) => write(isOn || undefined)}
			/>
		);
	const form = formOf(schema, value);
	if (form === "choice")
		return (
			<SelectField
				{...about}
				value={text || String(preset ?? "")}
				options={[
					...(preset === undefined ? ([["", words.notSet]] as const) : []),
					...choicesOf(schema)!.map(
						(one) => [one, choices[one] ?? one] as const,
					),
				]}
				onChange={set}
			/>
		);
	return (
		<TextField
			{...about}
			value={text}
			type={
				form === "number"
					? "number"
					: schema.format === "date"
						? "date"
						: isTime
							? "time"
							: "text"
			}
			isMonospace
			placeholder={preset === undefined ? "" : textOfValue(schema, preset)}
			{...(form !== "number" && form !== "line" && { rows: 2 })}
			{...(minimum !== undefined && { min: String(minimum) })}
			{...(maximum !== undefined && { max: String(maximum) })}
			onInput={set}
		/>
	);
}
