import type { WarehouseFormField } from "../../packages/warehouses/definition/definition.ts";
import { CheckField, SelectField, TextField } from "../components/field.tsx";
import { forms as words } from "../messages/forms.ts";
import { numberOf, textAt, withField } from "./draft.ts";
import type { FormContext } from "./resource-form.tsx";

/** Fields that a type of warehouse has of its own, each with its path in the spec. */
export function WarehouseFields({
	fields,
	form: { draft, onDraft, errorAt },
}: {
	fields: readonly (readonly [path: string, field: WarehouseFormField])[];
	form: FormContext;
}) {
	return fields.map(([path, { label, help, kind }]) => {
		const error = errorAt(path);
		const value = textAt(draft.spec, path);
		const set = (next: unknown) => onDraft(withField(draft, path, next));
		if (kind === "flag")
			return (
				<CheckField
					key={path}
					label={label}
					help={help}
					error={error}
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
						["", words.notSet],
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
					set(kind === "number" ? numberOf(text) : text || undefined)
				}
			/>
		);
	});
}
