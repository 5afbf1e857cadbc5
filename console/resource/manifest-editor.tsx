// CodeMirror: an editor for YAML that screen readers and keyboards can use, with completion and marks at lines.
import {
	autocompletion,
	type CompletionContext,
	completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import {
	EditorView,
	highlightSpecialChars,
	keymap,
	lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import {
	escapedForTerminal,
	linesForTerminal,
	unsafeOnTerminal,
} from "../../packages/escapes/terminal.ts";
import { completionsAt, placeAt } from "./completion.ts";
import type { FormKind, PlainObject } from "./draft.ts";
import type { ManifestProblem } from "./manifest.ts";
import { schemaOf } from "./schema.ts";

export interface EditorProps {
	kind: FormKind;
	label: string;
	text: string;
	problems: readonly ManifestProblem[];
	/** Another number above 0 leads the visitor to the first problem. */
	leadTo: number;
	/** Absent for a text that can't be changed. */
	onText?: (text: string) => void;
}

/** The colours are the page's: custom properties reach into the shadow root. */
const theme = EditorView.theme({
	"&": {
		color: "var(--text)",
		backgroundColor: "var(--surface-sunk)",
		border: "1px solid var(--line)",
		borderRadius: "var(--radius-small)",
		fontSize: "0.875rem",
		maxHeight: "34rem",
	},
	"&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
	".cm-scroller": { overflow: "auto", fontFamily: "ui-monospace, monospace" },
	".cm-content": { caretColor: "var(--text)" },
	".cm-cursor": { borderLeftColor: "var(--text)" },
	".cm-gutters": {
		color: "var(--text-quiet)",
		backgroundColor: "var(--surface)",
		borderRight: "1px solid var(--line)",
	},
	"&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection":
		{ backgroundColor: "var(--accent-ground)" },
	".cm-tooltip": {
		color: "var(--text)",
		backgroundColor: "var(--surface-raised)",
		border: "1px solid var(--line)",
	},
	".cm-tooltip-autocomplete ul li[aria-selected]": {
		color: "var(--on-accent)",
		backgroundColor: "var(--accent)",
	},
	// CodeMirror's own marks are images in data: URLs, which the page's Content-Security-Policy refuses.
	".cm-lint-marker-error": { content: '"●"', color: "var(--bad)" },
	".cm-lintRange-error": {
		backgroundImage: "none",
		textDecoration: "underline wavy var(--bad)",
	},
	".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

const colours = HighlightStyle.define([
	{ tag: tags.definition(tags.propertyName), color: "var(--accent-strong)" },
	{ tag: [tags.string, tags.content], color: "var(--text)" },
	{ tag: tags.comment, color: "var(--text-quiet)", fontStyle: "italic" },
	{ tag: [tags.number, tags.bool, tags.null], color: "var(--good)" },
]);

/** They are shown as everywhere else, and stay what they are when somebody copies the text. */
const hiddenCharacters = highlightSpecialChars({
	specialChars: unsafeOnTerminal,
	render: (code) => {
		const shown = document.createElement("span");
		shown.textContent = escapedForTerminal(String.fromCharCode(code));
		return shown;
	},
});

export function ManifestEditor({
	kind,
	label,
	text,
	problems,
	leadTo,
	onText,
}: EditorProps) {
	const host = useRef<HTMLDivElement>(null);
	const view = useRef<EditorView | undefined>(undefined);
	/** What was typed here and comes back as `text`, perhaps after more was typed. */
	const echoes = useRef(new Set<string>());
	const write = useRef(onText);
	write.current = onText;
	const isReadOnly = !onText;
	const writing = useRef(new Compartment());
	// The editor is made once; the effects below follow what changes.
	useEffect(() => {
		// In the document, CodeMirror writes a <style>, which the page's Content-Security-Policy refuses.
		const root =
			host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
		const editor = new EditorView({
			parent: root,
			root,
			state: EditorState.create({
				doc: text,
				extensions: [
					lineNumbers(),
					history(),
					hiddenCharacters,
					yaml(),
					lintGutter(),
					theme,
					syntaxHighlighting(colours),
					autocompletion({ override: [completing(kind)] }),
					// Tab leaves the editor, as every other field.
					keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
					EditorView.contentAttributes.of({
						"aria-label": label,
						"aria-multiline": "true",
						tabindex: "0",
					}),
					writing.current.of(readOnly(isReadOnly)),
					EditorView.updateListener.of(
						({ docChanged, state, transactions }) => {
							const isOwn = transactions.some((one) =>
								one.isUserEvent("follow"),
							);
							if (!docChanged || isOwn) return;
							const typed = state.doc.toString();
							echoes.current.add(typed);
							write.current?.(typed);
						},
					),
				],
			}),
		});
		view.current = editor;
		return () => editor.destroy();
	}, []);
	useEffect(() => {
		const editor = view.current!;
		const isCurrent = editor.state.doc.toString() === text;
		if (!isCurrent && echoes.current.has(text)) return;
		echoes.current.clear();
		if (isCurrent) return;
		editor.dispatch({
			changes: { from: 0, to: editor.state.doc.length, insert: text },
			userEvent: "follow",
		});
	}, [text]);
	useEffect(() => {
		view.current!.dispatch({
			effects: writing.current.reconfigure(readOnly(isReadOnly)),
		});
	}, [isReadOnly]);
	useEffect(() => {
		const { state } = view.current!;
		const found = problems.map(({ line = 1, message }): Diagnostic => {
			const at = state.doc.line(Math.min(Math.max(1, line), state.doc.lines));
			return {
				...{ from: at.from, to: at.to, severity: "error" },
				message: linesForTerminal(message),
			};
		});
		view.current!.dispatch(setDiagnostics(state, found));
	}, [problems]);
	useEffect(() => {
		if (leadTo === 0) return;
		const { doc } = view.current!.state;
		const line = Math.min(problems[0]?.line ?? 1, doc.lines);
		view.current!.dispatch({
			selection: { anchor: doc.line(line).from },
			scrollIntoView: true,
		});
		view.current!.focus();
	}, [leadTo]);
	return <div class="editor" ref={host} />;
}

function readOnly(isReadOnly: boolean) {
	// It stays focusable, so that the keyboard can scroll it and copy from it.
	return EditorState.readOnly.of(isReadOnly);
}

function completing(kind: FormKind) {
	return async (context: CompletionContext) => {
		const place = placeAt(context.state.doc.toString(), context.pos);
		if (place.word === "" && place.field === undefined && !context.explicit)
			return null;
		const schema = (await schemaOf(kind)) as PlainObject;
		const options = completionsAt(schema, kind, place);
		return options.length === 0
			? null
			: {
					from: context.pos - place.word.length,
					options,
					validFor: /^[\w$.-]*$/,
				};
	};
}
