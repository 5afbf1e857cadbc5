import type { ComponentType } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
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
	/** What the API refused last, which is shown at its lines. */
	problem?: ApiProblem | undefined;
	/** Open at once, and not inside <details>. */
	isOpen?: boolean;
	/** The name of a resource that is there can't change. */
	fixedName?: string | undefined;
}

/** The manifest that a form makes. Whoever writes or pastes another one changes the form. */
export function YamlPanel({ isOpen = false, ...props }: YamlPanelProps) {
	const [wasOpened, setOpened] = useState(isOpen);
	if (isOpen) return <Manifest {...props} />;
	return (
		<details
			class="yaml"
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
}: YamlPanelProps) {
	const written = useRef<Draft | undefined>(undefined);
	const [text, setText] = useState(() => manifestOf(kind, draft, namespace));
	const [problems, setProblems] = useState<ManifestProblem[]>([]);
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
		const read = readManifest(kind, next, namespace);
		const found = "problems" in read ? read.problems : renamed(read.draft);
		setProblems(found);
		setNotes("notes" in read ? read.notes : []);
		if (found.length > 0 || !("draft" in read)) return;
		written.current = read.draft;
		onDraft?.(read.draft);
	};
	const renamed = ({ name }: Draft): ManifestProblem[] =>
		fixedName === undefined || fixedName === name
			? []
			: [
					{
						message: words.renamed(fixedName),
						path: "name",
						...lineAt(text, "name"),
					},
				];
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
				{...(onDraft && { onText: change })}
			/>
			<div aria-live="polite">
				{problems.length > 0 && (
					<>
						<p class="error">{words.yamlProblems}</p>
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
	if (loaded) return <loaded.of {...props} />;
	if (!isGone) return <Skeleton lines={8} />;
	const { label, text, onText } = props;
	return (
		<textarea
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
