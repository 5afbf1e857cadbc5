import { useState } from "preact/hooks";
import { sourceForm as hints } from "../../crds/forms.ts";
import { providers } from "../../packages/contracts/providers.ts";
import { SelectField, TextField } from "../components/field.tsx";
import { Page } from "../components/page.tsx";
import { forms } from "../messages/forms.ts";
import { sources as words } from "../messages/sources.ts";
import { type FormContext, textAt, withField } from "../resource/draft.ts";
import { EditPage } from "../resource/edit-page.tsx";
import { ResourceForm } from "../resource/resource-form.tsx";
import { SchemaFields } from "../resource/schema-fields.tsx";
import { navigate } from "../router/navigation.ts";
import type { PageProps } from "../router/route.ts";
import {
	type AuthorizationType,
	authorizationOf,
	hasSecret,
	newSource,
	providerOf,
	randomToken,
	type SourceSecrets,
	withAuthorization,
	withProvider,
	withSecrets,
} from "./source-form.ts";

const schemes = [
	"StandardWebhooks",
	"Svix",
	"GitHub",
	"Meta",
	"Stripe",
	"Shopify",
	"Slack",
	"Twilio",
] as const;

const at = {
	token: "webhook.authorization.customToken.token",
	secrets: "webhook.authorization.signature.secrets",
	secretRefs: "webhook.authorization.signature.secretRefs",
	topics: "webhook.authorization.amazonSNS.topicARNs",
};

/** The paths of fields that show their own errors. */
const newFields = ["name", ...Object.values(at), ...Object.keys(hints.jwt)];
const fields = [
	...[...newFields, "displayName"],
	...[hints.kept, hints.told].flatMap(Object.keys),
];

const ownFields = [
	"type",
	"webhook.authorization.type",
	"webhook.authorization.signature.scheme",
];

/** `sources/new`: picks a provider or none, and ends on the Source's page, which waits for the first event. */
export function NewSource() {
	const [provider, setProvider] = useState("");
	const [secrets, setSecrets] = useState<SourceSecrets>({
		token: "",
		signing: "",
	});
	return (
		<Page title={words.newSource} parents={[["sources", words.title]]}>
			<ResourceForm
				kind="Source"
				initial={newSource()}
				fields={newFields}
				ownFields={ownFields}
				completed={(draft) => withSecrets(draft, secrets)}
				onSaved={({ name }) =>
					void navigate(`sources/${name}`, { provider: provider || "other" })
				}
			>
				{(form) => (
					<>
						<SelectField
							label={words.provider}
							help={words.providerHelp}
							value={provider}
							options={[
								["", words.plain],
								...Object.entries(providers).map(
									([name, { title }]) => [name, title] as const,
								),
							]}
							onChange={(name) => {
								form.onDraft(withProvider(form.draft, name, provider));
								setProvider(name);
							}}
						/>
						<TextField
							label={words.sourceName}
							help={words.sourceNameHelp}
							value={form.draft.name}
							error={form.errorAt("name")}
							required
							onInput={(name) => form.onDraft({ ...form.draft, name })}
						/>
						<AuthorizationFields
							form={form}
							secrets={secrets}
							onSecrets={setSecrets}
							secretName={providerOf(provider)?.secret}
						/>
					</>
				)}
			</ResourceForm>
		</Page>
	);
}

/** `sources/<name>/edit`. */
export function EditSource({ params }: PageProps) {
	const name = params.name!;
	const [secrets, setSecrets] = useState<SourceSecrets>({
		token: "",
		signing: "",
	});
	return (
		<EditPage kind="Source" path="sources" name={name} words={words} lines={6}>
			{(original) => (
				<ResourceForm
					kind="Source"
					original={original}
					initial={original.draft}
					fields={fields}
					ownFields={ownFields}
					completed={(draft) => withSecrets(draft, secrets)}
					onSaved={() => void navigate(`sources/${name}`)}
				>
					{(form) => (
						<>
							<TextField
								label={words.displayName}
								error={form.errorAt("displayName")}
								value={textAt(form.draft.spec, "displayName")}
								onInput={(text) =>
									form.onDraft(
										withField(form.draft, "displayName", text || undefined),
									)
								}
							/>
							<AuthorizationFields
								form={form}
								secrets={secrets}
								onSecrets={setSecrets}
							/>
							<SchemaFields kind="Source" hints={hints.kept} form={form} />
							<section class="group" aria-labelledby="notify">
								<h2 id="notify">{forms.notify}</h2>
								<SchemaFields kind="Source" hints={hints.told} form={form} />
							</section>
						</>
					)}
				</ResourceForm>
			)}
		</EditPage>
	);
}

function AuthorizationFields({
	form,
	secrets,
	onSecrets,
	secretName = words.signingSecretOf,
}: {
	form: FormContext;
	secrets: SourceSecrets;
	onSecrets(secrets: SourceSecrets): void;
	secretName?: string | undefined;
}) {
	const { draft, onDraft, errorAt } = form;
	const authorization = authorizationOf(draft);
	const { type, scheme, topicARNs } = authorization;
	const isKept = hasSecret(draft);
	return (
		<>
			<SelectField
				label={words.authorization}
				help={words.authorizationHelp}
				value={type}
				options={Object.entries(words.authorizationTypes).map(
					([value, label]) => [value as AuthorizationType, label] as const,
				)}
				onChange={(next) =>
					onDraft(withAuthorization(draft, next, authorization))
				}
			/>
			{type === "CustomToken" && (
				<>
					<TextField
						label={words.customToken}
						help={isKept ? words.keptSecret : words.customTokenHelp}
						error={errorAt(at.token)}
						value={secrets.token}
						autoComplete="off"
						isMonospace
						onInput={(token) => onSecrets({ ...secrets, token })}
					/>
					<button
						type="button"
						onClick={() => onSecrets({ ...secrets, token: randomToken() })}
					>
						{words.generate}
					</button>
				</>
			)}
			{type === "Signature" && (
				<>
					{scheme !== "Custom" && (
						<SelectField
							label={words.scheme}
							value={scheme as (typeof schemes)[number]}
							options={schemes.map((name) => [name, name] as const)}
							onChange={(next) =>
								onDraft(withAuthorization(draft, type, { scheme: next }))
							}
						/>
					)}
					<TextField
						label={words.signingSecret}
						help={
							isKept ? words.keptSecret : words.signingSecretHelp(secretName)
						}
						error={errorAt(at.secrets) ?? errorAt(at.secretRefs)}
						type="password"
						value={secrets.signing}
						autoComplete="off"
						onInput={(signing) => onSecrets({ ...secrets, signing })}
					/>
				</>
			)}
			{type === "JWT" && (
				<SchemaFields kind="Source" hints={hints.jwt} form={form} />
			)}
			{type === "AmazonSNS" && (
				<TextField
					label={words.topics}
					help={words.topicsHelp}
					error={errorAt(at.topics)}
					rows={3}
					isMonospace
					value={topicARNs.join("\n")}
					onInput={(text) =>
						onDraft(
							withAuthorization(draft, type, {
								topicARNs: text.split("\n").map((line) => line.trim()),
							}),
						)
					}
				/>
			)}
		</>
	);
}
