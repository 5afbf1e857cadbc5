import { warehouses } from "../../packages/warehouses/registry.ts";
import { CheckField, SelectField, TextField } from "../components/field.tsx";
import { destinations as words } from "../messages/destinations.ts";
import {
	type Draft,
	type ResourceView,
	valueAt,
	withField,
} from "../resource/draft.ts";
import { type FormContext, ResourceForm } from "../resource/resource-form.tsx";
import type { Original } from "../resource/save.ts";
import { fieldsOf, formFields, typeOf, withType } from "./form.ts";

/** The form of a new Destination, or of one that is there. */
export function DestinationForm({
	original,
	initial,
	onSaved,
}: {
	original?: Original;
	initial: Draft;
	onSaved(view: ResourceView): void;
}) {
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
				value={textOf(draft, "displayName")}
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
			{fieldsOf(type).map(([path, { label, help, kind }]) => {
				const error = errorAt(path);
				const value = textOf(draft, path);
				const set = (next: unknown) => onDraft(withField(draft, path, next));
				if (kind === "flag")
					return (
						<CheckField
							key={path}
							label={label}
							checked={value === "true"}
							onChange={(isOn) => set(isOn || undefined)}
						/>
					);
				if (typeof kind === "object")
					return (
						<SelectField
							key={path}
							label={label}
							help={help}
							error={error}
							value={value}
							options={[
								["", words.asIfAbsent],
								...kind.map((one) => [one, one] as const),
							]}
							onChange={(next) => set(next || undefined)}
						/>
					);
				return (
					<TextField
						key={path}
						label={label}
						help={help}
						isMonospace
						type={kind ?? "text"}
						error={error}
						value={value}
						onInput={(text) =>
							set(
								text === ""
									? undefined
									: kind === "number" && /^\d{1,9}$/.test(text)
										? Number(text)
										: text,
							)
						}
					/>
				);
			})}
		</section>
	);
}

function textOf({ spec }: Draft, path: string): string {
	const value = valueAt(spec, path);
	return value === undefined || value === null || typeof value === "object"
		? ""
		: String(value);
}
