import type { ComponentChildren, TargetedEvent } from "preact";
import { useId } from "preact/hooks";
import { linesForTerminal } from "../../packages/escapes/terminal.ts";
import { components as words } from "../messages/components.ts";

interface FieldTexts {
	label: string;
	/** What to write here, and what it does. */
	help?: ComponentChildren;
	/** What is wrong with the value. It is read with the field. */
	error?: string | undefined;
}

/** What ties a control to its label, its help and its error. */
interface ControlIds {
	id: string;
	"aria-describedby": string | undefined;
	"aria-invalid": boolean | undefined;
}

/** A label, a control, and below it the help and the error. */
export function Field({
	label,
	help,
	error,
	children,
}: FieldTexts & { children: (ids: ControlIds) => ComponentChildren }) {
	const id = useId();
	return (
		<div class={error ? "field field-invalid" : "field"}>
			<label for={id}>{label}</label>
			{children(controlIds(id, help, error))}
			<Described {...{ id, help, error }} />
		</div>
	);
}

function controlIds(
	id: string,
	help: ComponentChildren,
	error: string | undefined,
): ControlIds {
	const described = [help && `${id}-help`, error && `${id}-error`]
		.filter(Boolean)
		.join(" ");
	return {
		id,
		"aria-describedby": described || undefined,
		"aria-invalid": error ? true : undefined,
	};
}

/** The texts that {@link controlIds} refers to. */
function Described({
	id,
	help,
	error,
}: Omit<FieldTexts, "label"> & { id: string }) {
	return (
		<>
			{help && (
				<p id={`${id}-help`} class="help">
					{help}
				</p>
			)}
			{error && (
				<p id={`${id}-error`} class="error">
					{error}
				</p>
			)}
		</>
	);
}

/** What is wrong with a list of fields, where no field of it says so. */
export function ListError({ error }: Pick<FieldTexts, "error">) {
	return error ? (
		<p class="error" role="alert">
			{error}
		</p>
	) : null;
}

export function TextField({
	label,
	help,
	error,
	value,
	onInput,
	type = "text",
	rows,
	isMonospace = false,
	...rest
}: FieldTexts & {
	value: string;
	onInput(value: string): void;
	type?: "text" | "password" | "search" | "number" | "date" | "time" | "url";
	/** More than one line. */
	rows?: number;
	isMonospace?: boolean;
	placeholder?: string;
	autoComplete?: string;
	required?: boolean;
	disabled?: boolean;
	min?: string;
	max?: string;
}) {
	const read = (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) =>
		onInput(event.currentTarget.value);
	const className = isMonospace ? "monospace" : undefined;
	const seen = linesForTerminal(value);
	// A field shows its text as it is, so the hidden characters in it are shown below.
	const helpAndSeen =
		seen === value ? (
			help
		) : (
			<>
				{help} {words.hiddenCharacters(seen)}
			</>
		);
	return (
		<Field {...{ label, help: helpAndSeen, error }}>
			{(ids) =>
				rows ? (
					<textarea
						{...ids}
						{...rest}
						class={className}
						rows={rows}
						value={value}
						spellcheck={false}
						onInput={read}
					/>
				) : (
					<input
						{...ids}
						{...rest}
						class={className}
						// Preact types each kind of input apart; this one is any of them.
						type={type as "text"}
						value={value}
						spellcheck={false}
						autocapitalize="none"
						onInput={read}
					/>
				)
			}
		</Field>
	);
}

export function SelectField<T extends string>({
	label,
	help,
	error,
	value,
	options,
	onChange,
	disabled,
}: FieldTexts & {
	value: T;
	/** Value and words. */
	options: readonly (readonly [T, string])[];
	onChange(value: T): void;
	disabled?: boolean;
}) {
	return (
		<Field {...{ label, help, error }}>
			{(ids) => (
				<select
					{...ids}
					disabled={disabled}
					value={value}
					onChange={(event) => onChange(event.currentTarget.value as T)}
				>
					{options.map(([one, words]) => (
						<option key={one} value={one}>
							{words}
						</option>
					))}
				</select>
			)}
		</Field>
	);
}

export function CheckField({
	label,
	help,
	error,
	checked,
	onChange,
	disabled,
}: FieldTexts & {
	checked: boolean;
	onChange(checked: boolean): void;
	disabled?: boolean;
}) {
	const id = useId();
	return (
		<div class="field field-check">
			<input
				{...controlIds(id, help, error)}
				type="checkbox"
				checked={checked}
				disabled={disabled}
				onChange={(event) => onChange(event.currentTarget.checked)}
			/>
			<label for={id}>{label}</label>
			<Described {...{ id, help, error }} />
		</div>
	);
}

/** After the errors are rendered: who sends a form goes to the first field that is wrong. */
export function focusFirstError(): void {
	requestAnimationFrame(() =>
		requestAnimationFrame(() =>
			document.querySelector<HTMLElement>("main [aria-invalid=true]")?.focus(),
		),
	);
}
