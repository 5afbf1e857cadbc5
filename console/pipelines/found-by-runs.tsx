import type { Pipeline as PipelineResource } from "../../crds/generated/types.ts";
import { otherTypesTableOf, typeTablesOf } from "../../crds/table-name.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { DataTable } from "../components/data-table.tsx";
import type { Pipeline } from "../generated/types.ts";
import { pipelines as words } from "../messages/pipelines.ts";
import { draftOf, type ResourceView } from "../resource/draft.ts";
import { navigate } from "../router/navigation.ts";
import { followsEvents, hasPerEventType } from "./form.ts";
import { followedColumns, frozenColumnsYaml } from "./table-columns.ts";

/** What Runs have made of the events: columns for members of bodies, or tables for types. */
export function FoundByRuns({
	pipeline,
	mayChange,
}: {
	pipeline: Pipeline;
	mayChange: boolean;
}) {
	const draft = draftOf("Pipeline", pipeline as unknown as ResourceView);
	if (hasPerEventType(draft)) return <TypeTables pipeline={pipeline} />;
	if (!followsEvents(draft)) return null;
	const { name, inferredColumns } = pipeline;
	const columns = followedColumns(draft, inferredColumns);
	return (
		<section class="group" aria-labelledby="followed">
			<div class="group-head">
				<h2 id="followed">{words.followed}</h2>
				{columns.length > 0 && (
					<div class="actions">
						<CopyButton text={() => frozenColumnsYaml(draft, inferredColumns)}>
							{words.copyFollowed}
						</CopyButton>
						{mayChange && (
							<button
								type="button"
								class="button-small"
								onClick={() =>
									void navigate(`pipelines/${name}/edit`, { freeze: "true" })
								}
							>
								{words.freeze}
							</button>
						)}
					</div>
				)}
			</div>
			{columns.length === 0 ? (
				<p class="quiet">{words.followedNone}</p>
			) : (
				<DataTable
					caption={words.followedTable}
					columns={[
						{
							key: "name",
							title: words.columnName,
							render: ({ name }) => <code>{name}</code>,
						},
						{
							key: "bodyPointer",
							title: words.bodyPointer,
							render: ({ bodyPointer }) => <code>{bodyPointer}</code>,
						},
						{
							key: "type",
							title: words.columnType,
							render: ({ type }) => type,
						},
					]}
					rows={columns}
					keyOf={({ name }) => name}
				/>
			)}
		</section>
	);
}

function TypeTables({ pipeline }: { pipeline: Pipeline }) {
	const { name, tableName = "" } = pipeline;
	const types = typeTablesOf({
		metadata: { name },
		spec: pipeline,
		status: pipeline,
	} as unknown as PipelineResource);
	return (
		<section class="group" aria-labelledby="type-tables">
			<h2 id="type-tables">{words.typeTables}</h2>
			{types.length === 0 ? (
				<p class="quiet">{words.typeTablesNone}</p>
			) : (
				<DataTable
					caption={words.typeTablesTable}
					columns={[
						{
							key: "table",
							title: words.table,
							render: ({ table }) => <code>{table}</code>,
						},
						{
							key: "type",
							title: words.eventType,
							render: ({ type }) =>
								type === undefined ? (
									<span class="quiet">{words.otherTypes}</span>
								) : (
									<code>{type}</code>
								),
						},
					]}
					rows={[
						...types,
						{ table: otherTypesTableOf(tableName), type: undefined },
					]}
					keyOf={({ table }) => table}
				/>
			)}
		</section>
	);
}
