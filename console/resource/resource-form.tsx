import type { ComponentChildren } from "preact";
import {
	useEffect,
	useLayoutEffect,
	useMemo,
	useRef,
	useState,
} from "preact/hooks";
import { linesForTerminal } from "../../packages/escapes/terminal.ts";
import { ApiProblem, fieldError } from "../api/problem.ts";
import { can, type RightVerb, session } from "../api/session.ts";
import { focusFirstError } from "../components/field.tsx";
import { ManagedNotice } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { toast } from "../components/toasts.ts";
import { forms as words } from "../messages/forms.ts";
import { namespace, useUnsaved } from "../router/navigation.ts";
import { isSame } from "./conflict.ts";
import { ConflictDialog } from "./conflict-dialog.tsx";
import type { Draft, FormContext, FormKind, ResourceView } from "./draft.ts";
import { type FormState, keepForm, takeForm } from "./kept-draft.ts";
import { lineDiff } from "./line-diff.ts";
import { manifestOf } from "./manifest.ts";
import { type Original, saveDraft } from "./save.ts";
import { OtherFields } from "./schema-fields.tsx";
import { YamlPanel } from "./yaml-panel.tsx";

const plurals: Record<FormKind, string> = {
	Source: "sources",
	Destination: "destinations",
	Pipeline: "pipelines",
	TrackingPlan: "trackingplans",
};

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
	ownFields = [],
	isYamlOpen = false,
	problemOf = () => undefined,
	completed = (draft) => draft,
	onSaved,
	children,
}: FormProps & {
	kind: FormKind;
	fields: readonly string[];
	/** The paths of others that it has by itself. */
	ownFields?: readonly string[];
	isYamlOpen?: boolean;
	/** What the form itself knows to be wrong, by the path of its field. */
	problemOf?: (draft: Draft, path: string) => string | undefined;
	/** What is sent, with what the YAML mustn't show. */
	completed?: (draft: Draft) => Draft;
	children: (form: FormContext) => ComponentChildren;
}) {
	const key = JSON.stringify([kind, namespace.value, original?.draft.name]);
	const [began] = useState(
		(): FormState =>
			takeForm(key) ?? {
				...{ base: original, draft: initial, unread: undefined },
				start: original?.draft ?? initial,
			},
	);
	const [base, setBase] = useState(began.base);
	const [start, setStart] = useState(began.start);
	const [draft, setDraft] = useState(began.draft);
	const [unread, setUnread] = useState(began.unread);
	const [refusals, setRefusals] = useState(0);
	const [problem, setProblem] = useState<ApiProblem>();
	const [changed, setChanged] = useState<Original>();
	const [saved, setSaved] = useState<ResourceView>();
	const [isBusy, setBusy] = useState(false);
	const verb: RightVerb = base ? "update" : "create";
	const mayChange = can(plurals[kind], verb);
	const isReadOnly = base?.managedBy !== undefined || !mayChange;
	const isUnread = unread !== undefined;
	const hasChanges = isUnread || !isSame(completed(draft), start);
	const isUnsaved = hasChanges && !saved && !isReadOnly;
	useUnsaved(isUnsaved);
	const ending = useRef(() => {});
	const [visitor] = useState(session.peek()?.user);
	ending.current = () =>
		isUnsaved && keepForm(key, { base, start, draft, unread }, visitor);
	useLayoutEffect(() => () => ending.current(), []);
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
	const replace = (next: Draft) => {
		setUnread(undefined);
		// Another object, so that the YAML follows also where the form is the same.
		setDraft({ ...next });
	};
	const errorAt = (path: string) =>
		fieldError(problem, path) ?? problemOf(draft, path);
	const change = (next: Draft) => setDraft(next);
	// What comes while the YAML is none, such as a draft from events, doesn't take its place.
	const onDraft = isUnread ? () => {} : change;
	const form = { draft, onDraft, errorAt, isReadOnly, isUnread };
	return (
		<form
			class="form"
			noValidate
			onSubmit={(event) => {
				event.preventDefault();
				if (isUnread) setRefusals(refusals + 1);
				else if (!isReadOnly) void save(draft, base);
			}}
		>
			<ManagedNotice tool={base?.managedBy} />
			{base && !mayChange && <p class="notice">{words.noRight}</p>}
			{problem && <ProblemBox problem={problem} shownFields={fields} />}
			{/* What is written in a field would take the place of the YAML that somebody is at. */}
			<fieldset class="fields" disabled={isReadOnly || isUnread}>
				{children(form)}
				<OtherFields kind={kind} form={form} own={[...fields, ...ownFields]} />
			</fieldset>
			<YamlPanel
				kind={kind}
				draft={draft}
				namespace={namespace.value}
				problem={problem}
				isOpen={isYamlOpen}
				fixedName={base?.draft.name}
				onDraft={isReadOnly ? undefined : change}
				unread={unread}
				onUnread={setUnread}
				refusals={refusals}
			/>
			{base && !isReadOnly && !isUnread && (
				<Changes kind={kind} before={start} after={draft} />
			)}
			{!isReadOnly && (
				<div class="actions">
					{/* A disabled button would lose the focus, and a question that follows could not give it back. */}
					<button type="submit" class="button-primary" aria-disabled={isBusy}>
						{isBusy ? words.saving : base ? words.save : words.create}
					</button>
					{hasChanges && base && (
						<button type="button" onClick={() => replace(start)}>
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
						replace(changed.draft);
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

/** What Save changes of a resource that is there, as in its manifest. */
function Changes({
	kind,
	before,
	after,
}: {
	kind: FormKind;
	before: Draft;
	after: Draft;
}) {
	const lines = useMemo(
		() => lineDiff(manifestOf(kind, before), manifestOf(kind, after)),
		[kind, before, after],
	);
	if (lines.length === 0) return null;
	return (
		<section class="group" aria-labelledby="changes">
			<h2 id="changes">{words.changes}</h2>
			<pre class="diff">
				{lines.map(({ sign, text }, at) => {
					const line = `${sign === "-" ? "−" : sign} ${linesForTerminal(text)}\n`;
					if (sign === "-") return <del key={at}>{line}</del>;
					return sign === "+" ? <ins key={at}>{line}</ins> : line;
				})}
			</pre>
		</section>
	);
}
