import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import { components as words } from "../messages/components.ts";
import { TextField } from "./field.tsx";
import { ProblemBox } from "./problem-box.tsx";

/** A modal question (native dialog: it keeps the focus, and Escape closes it). It is there for as long as it is rendered. */
export function Dialog({
	title,
	onClose,
	children,
}: {
	title: string;
	onClose(): void;
	children: ComponentChildren;
}) {
	const dialog = useRef<HTMLDialogElement>(null);
	const heading = useId();
	// Before the next paint, so that a key that follows at once finds the focus where it belongs.
	useLayoutEffect(() => {
		const opener = document.activeElement as HTMLElement | null;
		dialog.current?.showModal();
		// After it is gone: while it is open, nothing outside it can have the focus.
		return () => queueMicrotask(() => opener?.focus?.());
	}, []);
	return (
		<dialog
			ref={dialog}
			aria-labelledby={heading}
			onClose={onClose}
			onCancel={(event) => {
				event.preventDefault();
				onClose();
			}}
		>
			<h2 id={heading}>{title}</h2>
			{children}
		</dialog>
	);
}

/** A button that asks before it takes something away, and says what is lost. */
export function DeleteButton({
	name,
	loss,
	label = words.delete,
	title = words.deleteNamed(name),
	asksName = true,
	onDelete,
}: {
	name: string;
	/** What is lost. */
	loss: ComponentChildren;
	label?: string;
	title?: string;
	/** Whether the visitor must write the name: for what nothing brings back. */
	asksName?: boolean;
	/** Throws an {@link ApiProblem} if it can't be; the dialog shows it. */
	onDelete(): Promise<void>;
}) {
	const [isOpen, setOpen] = useState(false);
	return (
		<>
			<button type="button" class="button-danger" onClick={() => setOpen(true)}>
				{label}
			</button>
			{isOpen && (
				<DeleteDialog
					{...{ name, loss, label, title, asksName, onDelete }}
					onClose={() => setOpen(false)}
				/>
			)}
		</>
	);
}

function DeleteDialog(props: {
	name: string;
	loss: ComponentChildren;
	label: string;
	title: string;
	asksName: boolean;
	onDelete(): Promise<void>;
	onClose(): void;
}) {
	const { name, loss, label, title, asksName, onDelete, onClose } = props;
	const [typed, setTyped] = useState("");
	const [problem, setProblem] = useState<ApiProblem>();
	const [isBusy, setBusy] = useState(false);
	const isSure = !asksName || typed === name;
	const remove = async (event: Event) => {
		event.preventDefault();
		if (!isSure || isBusy) return;
		setBusy(true);
		try {
			await onDelete();
			onClose();
		} catch (error) {
			if (!(error instanceof ApiProblem)) throw error;
			setProblem(error);
			setBusy(false);
		}
	};
	return (
		<Dialog title={title} onClose={onClose}>
			<form onSubmit={remove}>
				<div class="loss">{loss}</div>
				{problem && <ProblemBox problem={problem} />}
				{asksName && (
					<TextField
						label={words.typeName(name)}
						value={typed}
						onInput={setTyped}
						autoComplete="off"
					/>
				)}
				<div class="actions">
					<button type="button" onClick={onClose}>
						{words.cancel}
					</button>
					<button
						type="submit"
						class="button-danger"
						disabled={!isSure || isBusy}
					>
						{label}
					</button>
				</div>
			</form>
		</Dialog>
	);
}
