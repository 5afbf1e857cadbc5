import { useMemo } from "preact/hooks";
import { Page } from "../components/page.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import type { Draft } from "../resource/draft.ts";
import { EditPage } from "../resource/edit-page.tsx";
import type { Original } from "../resource/save.ts";
import { address, navigate } from "../router/navigation.ts";
import type { PageProps } from "../router/route.ts";
import { followsEvents, newPipeline, strategyOf } from "./form.ts";
import { inferredColumns, PipelineForm } from "./pipeline-form.tsx";
import { withFrozenColumns } from "./table-columns.ts";

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

/** `pipelines/<name>/edit`. With `?freeze=true`, the columns that events have brought are filled in. */
export function EditPipeline({ params }: PageProps) {
	const name = params.name!;
	const wantsFreeze = address.value.query.get("freeze") === "true";
	return (
		<EditPage
			kind="Pipeline"
			path="pipelines"
			name={name}
			words={words}
			lines={12}
		>
			{(original) => {
				const freezes = wantsFreeze && followsEvents(original.draft);
				return (
					<>
						{freezes && (
							<p class="notice">
								<span>
									{words.frozen}
									{strategyOf(original.draft) === "FullReload" &&
										` ${words.frozenWhole}`}
								</span>
							</p>
						)}
						<PipelineForm
							original={original}
							initial={freezes ? frozen(original) : original.draft}
							onSaved={() => void navigate(`pipelines/${name}`)}
						/>
					</>
				);
			}}
		</EditPage>
	);
}

function frozen(original: Original): Draft {
	return withFrozenColumns(original.draft, inferredColumns(original));
}
