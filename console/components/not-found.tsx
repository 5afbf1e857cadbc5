import { Page } from "../components/page.tsx";
import { shell as words } from "../messages/shell.ts";
import { href } from "../router/navigation.ts";

/** The console's own 404, also of a resource that isn't there. */
export function NotFound({ path }: { path: string }) {
	return (
		<Page title={words.notFoundTitle}>
			<p>{words.notFound(path)}</p>
			<p>
				<a href={href("sources")}>{words.toSources}</a>
			</p>
		</Page>
	);
}
