import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import type { PageProps } from "../app/pages.ts";
import { Page, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import { loadOriginal, type Original } from "../resource/save.ts";
import { address, navigate } from "../router/navigation.ts";
import { newPipeline } from "./form.ts";
import { PipelineForm } from "./pipeline-form.tsx";

/** `pipelines/new`. The address may name a source and a destination. */
export function NewPipeline() {
	const { query } = address.value;
	const initial = useMemo(
		() =>
			newPipeline(query.get("source") ?? "", query.get("destination") ?? ""),
		[],
	);
	return (
		<Page title={words.newPipeline} parents={[["pipelines", words.title]]}>
			<PipelineForm
				initial={initial}
				onSaved={({ name }) => void navigate(`pipelines/${name}`)}
			/>
		</Page>
	);
}

/** `pipelines/<name>/edit`. */
export function EditPipeline({ params }: PageProps) {
	const name = params.name!;
	const [original, setOriginal] = useState<Original>();
	const [problem, setProblem] = useState<ApiProblem>();
	useEffect(() => {
		const leaving = new AbortController();
		loadOriginal("Pipeline", name, leaving.signal).then(
			setOriginal,
			(error: unknown) => {
				if (leaving.signal.aborted) return;
				if (!(error instanceof ApiProblem)) throw error;
				setProblem(error);
			},
		);
		return () => leaving.abort();
	}, [name]);
	return (
		<Page
			title={words.editTitle(name)}
			parents={[
				["pipelines", words.title],
				[`pipelines/${name}`, name],
			]}
		>
			{problem && <ProblemBox problem={problem} />}
			{original ? (
				<PipelineForm
					original={original}
					initial={original.draft}
					onSaved={() => void navigate(`pipelines/${name}`)}
				/>
			) : (
				!problem && <Skeleton lines={12} />
			)}
		</Page>
	);
}
