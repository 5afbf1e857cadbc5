import type { ComponentType } from "preact";
import {
	useEffect,
	useId,
	useLayoutEffect,
	useRef,
	useState,
} from "preact/hooks";
import type { ApiProblem } from "../api/problem.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { Skeleton } from "../components/page.tsx";
import { forms as words } from "../messages/forms.ts";
import type { Draft, FormKind } from "./draft.ts";
import {
	lineOfField,
	type ManifestProblem,
	manifestOf,
	readManifest,
} from "./manifest.ts";
import type { EditorProps } from "./manifest-editor.tsx";

interface YamlPanelProps {
	kind: FormKind;
	draft: Draft;
	namespace: string;
	/** Absent: the manifest is shown, and can't be changed. */
	onDraft?: ((draft: Draft) => void) | undefined;
	/** A text that is no manifest, or not of this resource, which stands here until it is mended. */
	unread?: string | undefined;
	onUnread?(text: string | undefined): void;
	/** How often it was to be saved meanwhile: each time, the visitor is led to what is wrong. */
	refusals?: number;
	/** What the API refused last, which is shown at its lines. */
	problem?: ApiProblem | undefined;
	/** Open at once, and not inside <details>. */
	isOpen?: boolean;
	/** The name of a resource that is there can't change. */
	fixedName?: string | undefined;
}

/** The manifest that a form makes. Whoever writes or pastes another one changes the form. */
export function YamlPanel({ isOpen = false, ...props }: YamlPanelProps) {
	const { unread, refusals = 0 } = props;
	const [wasOpened, setOpened] = useState(isOpen || unread !== undefined);
	const details = useRef<HTMLDetailsElement>(null);
	useLayoutEffect(() => {
		if (unread !== undefined && details.current) details.current.open = true;
	}, [refusals]);
	if (isOpen) return <Manifest {...props} />;
	return (
		<details
			class="yaml"
			ref={details}
			onToggle={(event) => event.currentTarget.open && setOpened(true)}
		>
			<summary>{words.yaml}</summary>
			{wasOpened && <Manifest {...props} />}
		</details>
	);
}

function Manifest({
	kind,
	draft,
	namespace,
	onDraft,
	problem,
	fixedName,
	unread,
	onUnread,
	refusals = 0,
}: YamlPanelProps) {
	const read = (next: string) => {
		const found = readManifest(kind, next, namespace);
		if ("problems" in found) return { notes: [], ...found, draft: undefined };
		const isRenamed = fixedName !== undefined && fixedName !== found.draft.name;
		const renamed = () => ({
			message: words.renamed(fixedName!),
			path: "name",
			...lineAt(next, "name"),
		});
		return { ...found, problems: isRenamed ? [renamed()] : [] };
	};
	const written = useRef(unread === undefined ? undefined : draft);
	const [text, setText] = useState(
		() => unread ?? manifestOf(kind, draft, namespace),
	);
	const [problems, setProblems] = useState<ManifestProblem[]>(() =>
		unread === undefined ? [] : read(unread).problems,
	);
	const [notes, setNotes] = useState<string[]>([]);
	const described = useId();
	useEffect(() => {
		// The form changed, and not by this text.
		if (written.current === draft) return;
		setText(manifestOf(kind, draft, namespace));
		setProblems([]);
		setNotes([]);
	}, [kind, draft, namespace]);
	const change = (next: string) => {
		setText(next);
		const found = read(next);
		setProblems(found.problems);
		setNotes(found.notes);
		const isRead = found.draft && found.problems.length === 0;
		onUnread?.(isRead ? undefined : next);
		if (!isRead) return;
		written.current = found.draft;
		onDraft?.(found.draft!);
	};
	const ofApi = [...(problem?.fieldErrors ?? [])].map(([path, message]) => ({
		path,
		message: `${path}: ${message}`,
		...lineAt(text, path),
	}));
	const shown = problems.length > 0 ? problems : ofApi;
	return (
		<div class="yaml-panel">
			<p class="help" id={described}>
				{onDraft ? words.yamlHelp : words.yamlReadOnly}{" "}
				<CopyButton text={text} label={words.copyYaml} />
			</p>
			<LazyEditor
				kind={kind}
				label={words.yamlOf(kind)}
				text={text}
				problems={shown}
				leadTo={refusals}
				{...(onDraft && { onText: change })}
			/>
			<div aria-live="polite">
				{problems.length > 0 && (
					<>
						<p class="error">
							{refusals > 0 && `${words.notSaved} `}
							{words.yamlProblems}
						</p>
						<ProblemLines problems={problems} />
					</>
				)}
				{notes.map((note) => (
					<p key={note} class="quiet">
						{note}
					</p>
				))}
			</div>
		</div>
	);
}

export function ProblemLines({
	problems,
}: {
	problems: readonly ManifestProblem[];
}) {
	return (
		<ul class="error">
			{problems.map(({ line, message }) => (
				<li key={`${line} ${message}`}>
					{line !== undefined && `${words.line(line)}: `}
					{message}
				</li>
			))}
		</ul>
	);
}

function lineAt(text: string, path: string): { line?: number } {
	const line = lineOfField(text, path);
	return line === undefined ? {} : { line };
}

/** CodeMirror is larger than the rest of the console, so it is loaded when somebody looks at YAML. */
function LazyEditor(props: EditorProps) {
	const [loaded, setLoaded] = useState<{ of: ComponentType<EditorProps> }>();
	const [isGone, setGone] = useState(false);
	useEffect(() => {
		import("./manifest-editor.tsx").then(
			({ ManifestEditor }) => setLoaded({ of: ManifestEditor }),
			() => setGone(true),
		);
	}, []);
	const plain = useRef<HTMLTextAreaElement>(null);
	useEffect(() => {
		if (props.leadTo > 0) plain.current?.focus();
	}, [props.leadTo, isGone]);
	if (loaded) return <loaded.of {...props} />;
	if (!isGone) return <Skeleton lines={8} />;
	const { label, text, onText } = props;
	return (
		<textarea
			ref={plain}
			class="monospace"
			rows={20}
			aria-label={label}
			value={text}
			spellcheck={false}
			readOnly={!onText}
			onInput={(event) => onText?.(event.currentTarget.value)}
		/>
	);
}
