import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { components as words } from "../messages/components.ts";

export interface ListColumn<Row> {
	key: string;
	title: string;
	render(row: Row): ComponentChildren;
	isNumber?: boolean;
}

/** More rows than a person reads at once slow the page down. */
const pageRows = 100;

/** A table whose rows become cards on a narrow screen. The first column names the row. */
export function DataTable<Row>({
	caption,
	columns,
	rows,
	keyOf,
	isCaptionShown = false,
}: {
	caption: string;
	columns: ListColumn<Row>[];
	rows: readonly Row[];
	keyOf(row: Row): string;
	isCaptionShown?: boolean;
}) {
	const [shown, setShown] = useState(pageRows);
	const left = rows.length - shown;
	return (
		<>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard (WCAG 2.1.1). */}
			<section class="table-box" tabIndex={0} aria-label={caption}>
				<table>
					<caption class={isCaptionShown ? undefined : "visually-hidden"}>
						{caption}
					</caption>
					<thead>
						<tr>
							{columns.map(({ key, title, isNumber }) => (
								<th
									key={key}
									scope="col"
									class={isNumber ? "number" : undefined}
								>
									{title}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.slice(0, shown).map((row) => (
							<tr key={keyOf(row)}>
								{columns.map(({ key, title, render, isNumber }, i) =>
									i === 0 ? (
										<th key={key} scope="row">
											{render(row)}
										</th>
									) : (
										<td
											key={key}
											data-title={title}
											class={isNumber ? "number" : undefined}
										>
											{render(row)}
										</td>
									),
								)}
							</tr>
						))}
					</tbody>
				</table>
			</section>
			{left > 0 && (
				<button type="button" onClick={() => setShown(shown + pageRows)}>
					{words.showMore(Math.min(left, pageRows))}
				</button>
			)}
		</>
	);
}
