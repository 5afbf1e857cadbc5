import type { ComponentChildren } from "preact";
import { Page, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import type { FormKind } from "./draft.ts";
import { type Original, useOriginal } from "./save.ts";

/** `<path>/<name>/edit`: the form of a resource, as the API has it when the page opens. */
export function EditPage({
	kind,
	path,
	name,
	words,
	lines,
	children,
}: {
	kind: FormKind;
	path: string;
	name: string;
	words: { title: string; editTitle(name: string): string };
	/** How high the form is, roughly, until it is there. */
	lines: number;
	children: (original: Original) => ComponentChildren;
}) {
	const { answer: original, problem, retry } = useOriginal(kind, name);
	return (
		<Page
			title={words.editTitle(name)}
			parents={[
				[path, words.title],
				[`${path}/${name}`, name],
			]}
		>
			{problem && <ProblemBox problem={problem} onRetry={retry} triesItself />}
			{original ? children(original) : !problem && <Skeleton lines={lines} />}
		</Page>
	);
}
