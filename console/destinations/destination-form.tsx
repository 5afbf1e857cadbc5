import { warehouses } from "../../packages/warehouses/registry.ts";
import { SelectField, TextField } from "../components/field.tsx";
import { destinations as words } from "../messages/destinations.ts";
import { textAt, withField } from "../resource/draft.ts";
import {
	type FormContext,
	type FormProps,
	ResourceForm,
} from "../resource/resource-form.tsx";
import { WarehouseFields } from "../resource/warehouse-fields.tsx";
import { fieldsOf, formFields, typeOf, withType } from "./form.ts";

/** The form of a new Destination, or of one that is there. */
export function DestinationForm({ original, initial, onSaved }: FormProps) {
	return (
		<ResourceForm
			kind="Destination"
			original={original}
			initial={initial}
			fields={formFields}
			onSaved={onSaved}
		>
			{(form) => <Fields form={form} isNew={original === undefined} />}
		</ResourceForm>
	);
}

function Fields({ form, isNew }: { form: FormContext; isNew: boolean }) {
	const { draft, onDraft, errorAt } = form;
	const type = typeOf(draft);
	return (
		<section class="group" aria-labelledby="what">
			<h2 id="what">{words.what}</h2>
			{isNew && (
				<TextField
					label={words.destinationName}
					help={words.nameHelp}
					isMonospace
					error={errorAt("name")}
					value={draft.name}
					onInput={(name) => onDraft({ ...draft, name })}
				/>
			)}
			<TextField
				label={words.displayName}
				error={errorAt("displayName")}
				value={textAt(draft.spec, "displayName")}
				onInput={(text) =>
					onDraft(withField(draft, "displayName", text || undefined))
				}
			/>
			<SelectField
				label={words.type}
				error={errorAt("type")}
				value={type}
				options={[...warehouses].map(([one, { form }]) => [
					one,
					`${one}: ${form.title}`,
				])}
				onChange={(next) => onDraft(withType(draft, next))}
			/>
			<WarehouseFields fields={fieldsOf(type)} form={form} />
		</section>
	);
}
