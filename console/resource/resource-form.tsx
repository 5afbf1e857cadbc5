import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiProblem, fieldError } from "../api/problem.ts";
import { can, type RightVerb } from "../api/session.ts";
import { focusFirstError } from "../components/field.tsx";
import { ManagedNotice } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { toast } from "../components/toast.tsx";
import { forms as words } from "../messages/forms.ts";
import { namespace, useUnsaved } from "../router/navigation.ts";
import { isSame } from "./conflict.ts";
import { ConflictDialog } from "./conflict-dialog.tsx";
import type { Draft, FormKind, ResourceView } from "./draft.ts";
import { type Original, saveDraft } from "./save.ts";
import { YamlPanel } from "./yaml-panel.tsx";

const plurals: Record<FormKind, string> = {
	Source: "sources",
	Destination: "destinations",
	Pipeline: "pipelines",
	TrackingPlan: "trackingplans",
};

/** What a form's fields get: the draft, how to change it, and the error of a field by its path. */
export interface FormContext {
	draft: Draft;
	onDraft(draft: Draft): void;
	errorAt(path: string): string | undefined;
	isReadOnly: boolean;
}

/** What the form of each kind gets. */
export interface FormProps {
	/** Absent for a new resource. */
	original?: Original | undefined;
	/** What a new resource begins with, or what a saved form continues with. */
	initial: Draft;
	onSaved(view: ResourceView): void;
}

/**
 * A form of a resource: fields, their errors, the YAML, and a button that creates or saves. It asks before changes are lost, shows
 * both versions if somebody else saved first, and is read-only if a GitOps tool manages the resource or the visitor may not
 * change it.
 * @param fields the paths of the fields that show their own errors
 */
export function ResourceForm({
	kind,
	original,
	initial,
	fields,
	isYamlOpen = false,
	problemOf = () => undefined,
	completed = (draft) => draft,
	onSaved,
	children,
}: FormProps & {
	kind: FormKind;
	fields: readonly string[];
	isYamlOpen?: boolean;
	/** What the form itself knows to be wrong, by the path of its field. */
	problemOf?: (draft: Draft, path: string) => string | undefined;
	/** What is sent, with what the YAML mustn't show. */
	completed?: (draft: Draft) => Draft;
	children: (form: FormContext) => ComponentChildren;
}) {
	const [base, setBase] = useState(original);
	const [start, setStart] = useState(original?.draft ?? initial);
	const [draft, setDraft] = useState(initial);
	const [problem, setProblem] = useState<ApiProblem>();
	const [changed, setChanged] = useState<Original>();
	const [saved, setSaved] = useState<ResourceView>();
	const [isBusy, setBusy] = useState(false);
	const verb: RightVerb = base ? "update" : "create";
	const mayChange = can(plurals[kind], verb);
	const isReadOnly = base?.managedBy !== undefined || !mayChange;
	const hasChanges = !isSame(completed(draft), start);
	useUnsaved(hasChanges && !saved && !isReadOnly);
	// After the warning above is gone, so that the page may be left.
	useEffect(() => {
		if (saved) onSaved(saved);
	}, [saved]);

	const save = async (wanted: Draft, from: Original | undefined) => {
		if (isBusy) return;
		setBusy(true);
		setProblem(undefined);
		try {
			const result = await saveDraft(kind, completed(wanted), from);
			if ("changed" in result) setChanged(result.changed);
			else {
				toast(
					from
						? words.saved(result.view.name)
						: words.created(result.view.name),
				);
				setSaved(result.view);
			}
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			setProblem(error);
			focusFirstError();
		} finally {
			setBusy(false);
		}
	};
	const errorAt = (path: string) =>
		fieldError(problem, path) ?? problemOf(draft, path);
	const change = (next: Draft) => setDraft(next);
	return (
		<form
			class="form"
			noValidate
			onSubmit={(event) => {
				event.preventDefault();
				if (!isReadOnly) void save(draft, base);
			}}
		>
			<ManagedNotice tool={base?.managedBy} />
			{base && !mayChange && <p class="notice">{words.noRight}</p>}
			{problem && <ProblemBox problem={problem} shownFields={fields} />}
			<fieldset class="fields" disabled={isReadOnly}>
				{children({ draft, onDraft: change, errorAt, isReadOnly })}
			</fieldset>
			<YamlPanel
				kind={kind}
				draft={draft}
				namespace={namespace.value}
				problem={problem}
				isOpen={isYamlOpen}
				fixedName={base?.draft.name}
				onDraft={isReadOnly ? undefined : change}
			/>
			{!isReadOnly && (
				<div class="actions">
					{/* A disabled button would lose the focus, and a question that follows could not give it back. */}
					<button type="submit" class="button-primary" aria-disabled={isBusy}>
						{isBusy ? words.saving : base ? words.save : words.create}
					</button>
					{hasChanges && base && (
						<button type="button" onClick={() => setDraft(start)}>
							{words.discard}
						</button>
					)}
				</div>
			)}
			{changed && base && (
				<ConflictDialog
					before={base.draft}
					mine={draft}
					theirs={changed.draft}
					onClose={() => setChanged(undefined)}
					onDiscard={() => {
						setBase(changed);
						setStart(changed.draft);
						setDraft(changed.draft);
						setChanged(undefined);
					}}
					onMerge={(merged) => {
						setBase(changed);
						setStart(changed.draft);
						setDraft(merged);
						setChanged(undefined);
						void save(merged, changed);
					}}
				/>
			)}
		</form>
	);
}
