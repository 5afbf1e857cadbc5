import { useMemo } from "preact/hooks";
import { Page } from "../components/page.tsx";
import { destinations as words } from "../messages/destinations.ts";
import { EditPage } from "../resource/edit-page.tsx";
import { navigate } from "../router/navigation.ts";
import type { PageProps } from "../router/route.ts";
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
	return (
		<EditPage
			kind="Destination"
			path="destinations"
			name={name}
			words={words}
			lines={8}
		>
			{(original) => (
				<DestinationForm
					original={original}
					initial={original.draft}
					onSaved={() => void navigate(`destinations/${name}`)}
				/>
			)}
		</EditPage>
	);
}
