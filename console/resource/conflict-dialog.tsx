import { useState } from "preact/hooks";
import { Dialog } from "../components/dialog.tsx";
import { forms as words } from "../messages/forms.ts";
import { conflictsOf, mergedDraft } from "./conflict.ts";
import type { Draft } from "./draft.ts";

/** Shows what both sides changed, and asks which value counts where they differ. */
export function ConflictDialog({
	before,
	mine,
	theirs,
	onMerge,
	onDiscard,
	onClose,
}: {
	before: Draft;
	mine: Draft;
	theirs: Draft;
	onMerge(merged: Draft): void;
	onDiscard(): void;
	onClose(): void;
}) {
	const [taken, setTaken] = useState<ReadonlySet<string>>(new Set());
	const conflicts = conflictsOf(before, mine, theirs);
	const choose = (path: string, isTheirs: boolean) => {
		const next = new Set(taken);
		if (isTheirs) next.add(path);
		else next.delete(path);
		setTaken(next);
	};
	return (
		<Dialog title={words.conflictTitle} onClose={onClose}>
			<p>{words.conflictText(mine.name)}</p>
			<ul class="conflicts">
				{conflicts.map(({ path, mine: own, theirs: other, isDisputed }) => (
					<li key={path}>
						<code>{path}</code>
						{isDisputed ? (
							<fieldset>
								<legend class="visually-hidden">{path}</legend>
								{(
									[
										[words.conflictMine, own, false, words.keepMine(path)],
										[words.conflictTheirs, other, true, words.takeTheirs(path)],
									] as const
								).map(([whose, value, isTheirs, label]) => (
									<label key={whose}>
										<input
											type="radio"
											name={`conflict ${path}`}
											aria-label={label}
											checked={taken.has(path) === isTheirs}
											onChange={() => choose(path, isTheirs)}
										/>{" "}
										<span>{whose}</span> <Value value={value} />
									</label>
								))}
							</fieldset>
						) : (
							<p>
								{words.conflictMine} <Value value={own} />{" "}
								{words.conflictTheirs} <Value value={other} />{" "}
								<span class="quiet">({words.fromOneSide})</span>
							</p>
						)}
					</li>
				))}
			</ul>
			<div class="actions">
				<button type="button" onClick={onClose}>
					{words.backToForm}
				</button>
				<button type="button" class="button-danger" onClick={onDiscard}>
					{words.discardMine}
				</button>
				<button
					type="button"
					class="button-primary"
					onClick={() => onMerge(mergedDraft(before, mine, theirs, taken))}
				>
					{words.saveMerged}
				</button>
			</div>
		</Dialog>
	);
}

function Value({ value }: { value: unknown }) {
	if (value === undefined) return <span class="quiet">{words.notSet}</span>;
	const text = typeof value === "string" ? value : JSON.stringify(value);
	return <code>{text.length > 300 ? `${text.slice(0, 300)}…` : text}</code>;
}
