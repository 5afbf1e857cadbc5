import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiProblem } from "../api/problem.ts";
import type { PageProps } from "../app/pages.ts";
import { Page, Skeleton } from "../components/page.tsx";
import { ProblemBox } from "../components/problem-box.tsx";
import { destinations as words } from "../messages/destinations.ts";
import { loadOriginal, type Original } from "../resource/save.ts";
import { navigate } from "../router/navigation.ts";
import { DestinationForm } from "./destination-form.tsx";
import { newDestination } from "./form.ts";

/** `destinations/new`. */
export function NewDestination() {
	const initial = useMemo(newDestination, []);
	return (
		<Page
			title={words.newDestination}
			parents={[["destinations", words.title]]}
		>
			<DestinationForm
				initial={initial}
				onSaved={({ name }) => void navigate(`destinations/${name}`)}
			/>
		</Page>
	);
}

/** `destinations/<name>/edit`. */
export function EditDestination({ params }: PageProps) {
	const name = params.name!;
	const [original, setOriginal] = useState<Original>();
	const [problem, setProblem] = useState<ApiProblem>();
	useEffect(() => {
		const leaving = new AbortController();
		loadOriginal("Destination", name, leaving.signal).then(
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
				["destinations", words.title],
				[`destinations/${name}`, name],
			]}
		>
			{problem && <ProblemBox problem={problem} />}
			{original ? (
				<DestinationForm
					original={original}
					initial={original.draft}
					onSaved={() => void navigate(`destinations/${name}`)}
				/>
			) : (
				!problem && <Skeleton lines={8} />
			)}
		</Page>
	);
}
