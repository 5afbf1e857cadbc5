import { useEffect, useState } from "preact/hooks";
import { choicesOf } from "../../crds/fields.ts";
import type { Schema } from "../../crds/resource-schema.ts";
import { SelectField, TextField } from "../components/field.tsx";
import { forms as words } from "../messages/forms.ts";
import { type FormKind, valueAt, withField } from "./draft.ts";
import { formOf, otherFields, textOfValue, valueOfText } from "./field-text.ts";
import type { FormContext } from "./resource-form.tsx";
import { schemaOf } from "./schema.ts";

interface OtherFieldsProps {
	kind: FormKind;
	form: FormContext;
	/** The paths of the fields that the form has by itself. */
	own: readonly string[];
}

/** Every field of the kind that the form has none of its own for, as the CRD describes it. */
export function OtherFields(props: OtherFieldsProps) {
	const [wasOpened, setOpened] = useState(false);
	return (
		<details
			class="yaml"
			onToggle={(event) => event.currentTarget.open && setOpened(true)}
		>
			<summary>{words.otherFields}</summary>
			{wasOpened && <Fields {...props} />}
		</details>
	);
}

function Fields({ kind, form, own }: OtherFieldsProps) {
	const [schema, setSchema] = useState<Schema>();
	useEffect(() => void schemaOf(kind).then(setSchema), [kind]);
	const spec = schema?.properties?.spec;
	if (!spec) return null;
	return (
		<div class="group">
			{otherFields(spec, form.draft.spec, own).map(({ path, schema }) => (
				<SchemaField key={path} path={path} schema={schema} form={form} />
			))}
		</div>
	);
}

/** A field by its schema: how it is written, its bounds, its values, and what it is. */
function SchemaField({
	path,
	schema,
	form: { draft, onDraft, errorAt },
}: {
	path: string;
	schema: Schema;
	form: FormContext;
}) {
	const value = valueAt(draft.spec, path);
	// What somebody types stays as typed, while the draft has what it means.
	const [typed, setTyped] = useState<{ text: string; value: unknown }>();
	const text =
		typed && typed.value === value ? typed.text : textOfValue(schema, value);
	const set = (next: string) => {
		const value = valueOfText(schema, next);
		setTyped({ text: next, value });
		onDraft(withField(draft, path, value));
	};
	const form = formOf(schema);
	const about = {
		label: path,
		help: schema.description,
		error: errorAt(path),
		value: text,
	};
	if (form === "choice")
		return (
			<SelectField
				{...about}
				options={[
					["", defaultOf(schema) ?? words.notSet],
					...choicesOf(schema)!.map((one) => [one, one] as const),
				]}
				onChange={set}
			/>
		);
	const { minimum, maximum } = schema;
	return (
		<TextField
			{...about}
			type={form === "number" ? "number" : "text"}
			isMonospace
			placeholder={defaultOf(schema) ?? ""}
			{...(form !== "number" && form !== "line" && { rows: 3 })}
			{...(minimum !== undefined && { min: String(minimum) })}
			{...(maximum !== undefined && { max: String(maximum) })}
			onInput={set}
		/>
	);
}

function defaultOf({ default: preset }: Schema): string | undefined {
	return preset === undefined
		? undefined
		: typeof preset === "object"
			? JSON.stringify(preset)
			: String(preset);
}
