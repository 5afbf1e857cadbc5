import { useEffect, useMemo, useState } from "preact/hooks";
import { planForm as hints } from "../../crds/forms.ts";
import { ApiProblem } from "../api/problem.ts";
import { can } from "../api/session.ts";
import { SelectField, TextField } from "../components/field.tsx";
import { Page } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { trackingPlans as words } from "../messages/tracking-plans.ts";
import {
	type Draft,
	type FormContext,
	textAt,
	withField,
} from "../resource/draft.ts";
import { readManifest } from "../resource/manifest.ts";
import { type FormProps, ResourceForm } from "../resource/resource-form.tsx";
import { tryDraft } from "../resource/save.ts";
import { SchemaFields } from "../resource/schema-fields.tsx";
import { navigate } from "../router/navigation.ts";
import { DryRun } from "./dry-run.tsx";
import { useOperation } from "./operation.ts";
import {
	newPlan,
	planFields,
	typePlace,
	typePlaces,
	withDrafted,
	withTypePlace,
} from "./plan-form.ts";
import { SourceField } from "./source-field.tsx";

/** `tracking-plans/new`. */
export function NewPlan() {
	const initial = useMemo(newPlan, []);
	return (
		<Page title={words.newPlan} parents={[["tracking-plans", words.title]]}>
			<PlanForm
				initial={initial}
				onSaved={({ name }) => void navigate(`tracking-plans/${name}`)}
			/>
		</Page>
	);
}

export function PlanForm({ original, initial, onSaved }: FormProps) {
	return (
		<ResourceForm
			kind="TrackingPlan"
			original={original}
			initial={initial}
			fields={planFields}
			ownFields={["common", "events"]}
			isYamlOpen
			onSaved={onSaved}
		>
			{(form) => <Fields form={form} isNew={original === undefined} />}
		</ResourceForm>
	);
}

function Fields({ form, isNew }: { form: FormContext; isNew: boolean }) {
	const { draft, onDraft, errorAt, isReadOnly, isUnread } = form;
	const { spec } = draft;
	const place = typePlace(draft);
	const set = (path: string) => (text: string) =>
		onDraft(withField(draft, path, text === "" ? undefined : text));
	const placeHelp = {
		bodyPointer: words.bodyPointerHelp,
		header: words.headerHelp,
		constant: undefined,
	}[place];
	return (
		<>
			<section class="group">
				{isNew && (
					<TextField
						label={words.planName}
						help={words.planNameHelp}
						isMonospace
						error={errorAt("name")}
						value={draft.name}
						onInput={(name) => onDraft({ ...draft, name })}
					/>
				)}
				<TextField
					label={words.displayName}
					error={errorAt("displayName")}
					value={textAt(spec, "displayName")}
					onInput={set("displayName")}
				/>
				<div class="beside">
					<SelectField
						label={words.typeAt}
						value={place}
						options={typePlaces.map((one) => [one, words.typeKinds[one]])}
						onChange={(next) => onDraft(withTypePlace(draft, next))}
					/>
					<TextField
						label={words[place]}
						help={placeHelp}
						isMonospace
						error={errorAt(`eventType.${place}`) ?? errorAt("eventType")}
						value={textAt(spec, `eventType.${place}`)}
						onInput={(text) =>
							onDraft(withField(draft, "eventType", { [place]: text }))
						}
					/>
				</div>
			</section>
			<fieldset class="group">
				<legend>{words.policies}</legend>
				<SchemaFields kind="TrackingPlan" hints={hints.policies} form={form} />
			</fieldset>
			{!isReadOnly && can("operations", "create") && (
				<>
					<DraftFromEvents draft={draft} onDraft={onDraft} />
					<DryRun draft={draft} />
				</>
			)}
			<div>
				<h2>{words.schemas}</h2>
				<p class="help">{words.schemasHelp}</p>
				{!isReadOnly && !isUnread && <ApiCheck draft={draft} isNew={isNew} />}
			</div>
		</>
	);
}

/** What the API would say of the plan, once nobody has typed for a while. */
function ApiCheck({ draft, isNew }: { draft: Draft; isNew: boolean }) {
	const [result, setResult] = useState<ApiProblem | "fine" | "checking">();
	useEffect(() => {
		const leaving = new AbortController();
		const { signal } = leaving;
		setResult(undefined);
		const timer = setTimeout(async () => {
			if (draft.name === "") return;
			setResult("checking");
			try {
				setResult(
					(await tryDraft("TrackingPlan", draft, isNew, signal)) ?? "fine",
				);
			} catch (error) {
				if (!signal.aborted) throw error;
			}
		}, quietMs);
		return () => {
			clearTimeout(timer);
			leaving.abort();
		};
	}, [draft, isNew]);
	return (
		<div aria-live="polite">
			{result === "checking" && <p class="quiet">{words.checking}</p>}
			{result === "fine" && <p class="good">{words.checked}</p>}
			{result instanceof ApiProblem && (
				<p class="error">
					{[...result.fieldErrors]
						.map(([path, message]) => `${path}: ${message}`)
						.join("; ") || result.message}
				</p>
			)}
		</div>
	);
}

/** Each check is one of the ten requests that a page may make in a minute. */
const quietMs = 2_000;

function DraftFromEvents({
	draft,
	onDraft,
}: {
	draft: Draft;
	onDraft(draft: Draft): void;
}) {
	const [source, setSource] = useState("");
	const [message, setMessage] = useState<string>();
	const operation = useOperation(({ draft: result, error }) => {
		if (!result) return setMessage(error && words.failed(error.message));
		const read = readManifest("TrackingPlan", result.trackingPlan);
		if (!("draft" in read)) return setMessage(words.draftUnreadable);
		onDraft(withDrafted(draft, read.draft));
		setMessage(words.drafted(result.events, result.eventTypes));
	});
	const start = () => {
		setMessage(undefined);
		const eventType = draft.spec.eventType as Record<string, string>;
		void operation.start({
			type: "Draft",
			sourceRef: { name: source },
			eventType,
		});
	};
	return (
		<section class="group" aria-labelledby="draft">
			<h2 id="draft">{words.draftTitle}</h2>
			<p class="help">{words.draftHelp}</p>
			<SourceField
				label={`${words.draftTitle}: ${words.source}`}
				value={source}
				onChange={setSource}
			/>
			<div class="actions">
				<button
					type="button"
					disabled={source === "" || operation.isBusy}
					onClick={start}
				>
					{words.makeDraft}
				</button>
				{operation.isBusy && (
					<button type="button" onClick={() => void operation.stop()}>
						{words.stop}
					</button>
				)}
			</div>
			{operation.problem && <ProblemBox problem={operation.problem} />}
			<p role="status">
				{operation.isBusy ? words.working(operation.status!) : message}
			</p>
		</section>
	);
}
