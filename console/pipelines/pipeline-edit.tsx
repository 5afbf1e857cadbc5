import { useMemo } from "preact/hooks";
import { Page } from "../components/page.tsx";
import { pipelines as words } from "../messages/pipelines.ts";
import { EditPage } from "../resource/edit-page.tsx";
import { address, navigate } from "../router/navigation.ts";
import type { PageProps } from "../router/route.ts";
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
	return (
		<EditPage
			kind="Pipeline"
			path="pipelines"
			name={name}
			words={words}
			lines={12}
		>
			{(original) => (
				<PipelineForm
					original={original}
					initial={original.draft}
					onSaved={() => void navigate(`pipelines/${name}`)}
				/>
			)}
		</EditPage>
	);
}
