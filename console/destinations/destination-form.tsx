import { useState } from "preact/hooks";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { SelectField, TextField } from "../components/field.tsx";
import { destinations as words } from "../messages/destinations.ts";
import { type FormContext, textAt, withField } from "../resource/draft.ts";
import { type FormProps, ResourceForm } from "../resource/resource-form.tsx";
import { SchemaFields } from "../resource/schema-fields.tsx";
import {
	fieldsOf,
	formFields,
	isMoved,
	typeOf,
	type User,
	userAt,
	withType,
	withUser,
} from "./form.ts";

/** The form of a new Destination, or of one that is there. */
export function DestinationForm({ original, initial, onSaved }: FormProps) {
	const [user, setUser] = useState<User>({ username: "", password: "" });
	return (
		<ResourceForm
			kind="Destination"
			original={original}
			initial={initial}
			fields={formFields}
			completed={(draft) => withUser(draft, user)}
			onSaved={onSaved}
		>
			{(form) => (
				<>
					<Fields form={form} isNew={original === undefined} />
					<UserFields
						form={form}
						user={user}
						onUser={setUser}
						isAsked={
							original !== undefined &&
							!user.password &&
							isMoved(form.draft, original.draft)
						}
					/>
				</>
			)}
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
			<SchemaFields
				kind="Destination"
				hints={Object.fromEntries(fieldsOf(type))}
				form={form}
			/>
		</section>
	);
}

function UserFields({
	form: { draft, errorAt },
	user,
	onUser,
	isAsked,
}: {
	form: FormContext;
	user: User;
	onUser(user: User): void;
	/** The address has changed, and the Secret of before mustn't go there. */
	isAsked: boolean;
}) {
	const at = userAt(typeOf(draft));
	if (at === undefined) return null;
	return (
		<section class="group" aria-labelledby="user">
			<h2 id="user">{words.user}</h2>
			<p class="help">{words.userHelp}</p>
			<TextField
				label={words.username}
				error={errorAt(`${at}.username`)}
				value={user.username}
				autoComplete="off"
				isMonospace
				onInput={(username) => onUser({ ...user, username })}
			/>
			<TextField
				label={words.password}
				error={
					errorAt(`${at}.password`) ??
					(isAsked ? words.passwordAgain : undefined)
				}
				type="password"
				value={user.password}
				autoComplete="off"
				onInput={(password) => onUser({ ...user, password })}
			/>
		</section>
	);
}
