import {
	isReady,
	type LiveKind,
	type LiveKinds,
	live,
} from "../api/changes.ts";
import { can } from "../api/session.ts";
import { DataTable, type ListColumn } from "../components/data-table.tsx";
import { EmptyState, Page, Skeleton } from "../components/page.tsx";
import { href } from "../router/navigation.ts";

/** The kinds that people name, and make by a form. */
type ListedKind = Exclude<LiveKind, "runs" | "operations">;

/**
 * The page of all resources of a kind, by name, as they change: what they are called, with a link to each one's page, and the
 * kind's own columns. Who may create one gets the button.
 * @param path below the console, such as `tracking-plans`
 */
export function ResourceList<K extends ListedKind>({
	kind,
	path,
	words,
	newTitle,
	columns,
}: {
	kind: K;
	path: string;
	words: { title: string; name: string; emptyTitle: string; empty: string };
	newTitle: string;
	columns: ListColumn<LiveKinds[K]>[];
}) {
	const rows = [...live(kind).values()].sort((a, b) =>
		a.name < b.name ? -1 : 1,
	);
	const create = can(kind, "create") && (
		<a class="button button-primary" href={href(`${path}/new`)}>
			{newTitle}
		</a>
	);
	const nameColumn: ListColumn<LiveKinds[K]> = {
		key: "name",
		title: words.name,
		sortBy: ({ name }) => name,
		render: ({ name, displayName }) => (
			<>
				<a href={href(`${path}/${name}`)}>{name}</a>
				{displayName && <div class="quiet">{displayName}</div>}
			</>
		),
	};
	return (
		<Page title={words.title} actions={create}>
			{!isReady(kind) ? (
				<Skeleton />
			) : rows.length === 0 ? (
				<EmptyState title={words.emptyTitle}>
					<p>{words.empty}</p>
				</EmptyState>
			) : (
				<DataTable
					caption={words.title}
					rows={rows}
					keyOf={({ name }) => name}
					findBy={({ name, displayName = "" }) => `${name} ${displayName}`}
					columns={[nameColumn, ...columns]}
				/>
			)}
		</Page>
	);
}
