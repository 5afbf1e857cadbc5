import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { components as words } from "../messages/components.ts";
import { TextField } from "./field.tsx";

export interface ListColumn<Row> {
	key: string;
	title: string;
	render(row: Row): ComponentChildren;
	isNumber?: boolean;
	/** Rows can be sorted by what it gives; those for which it gives nothing come last. */
	sortBy?(row: Row): string | number | undefined;
}

/** More rows than a person reads at once slow the page down. */
const pageRows = 100;

/** Fewer are seen at once. */
const searchedRows = 8;

interface SortOrder {
	key: string;
	way: "ascending" | "descending";
}

const arrows = { ascending: " ↑", descending: " ↓" };

function nextOrder(key: string, before: SortOrder | undefined): SortOrder {
	const isSame = before?.key === key && before.way === "ascending";
	return { key, way: isSame ? "descending" : "ascending" };
}

function sortedBy<Row>(
	rows: readonly Row[],
	sortBy: NonNullable<ListColumn<Row>["sortBy"]>,
	{ way }: SortOrder,
): Row[] {
	const sign = way === "ascending" ? 1 : -1;
	return rows.toSorted((a, b) => {
		const [left, right] = [sortBy(a), sortBy(b)];
		if (left === right) return 0;
		if (left === undefined) return 1;
		if (right === undefined) return -1;
		return left < right ? -sign : sign;
	});
}

/** A table whose rows become cards on a narrow screen. The first column names the row. */
export function DataTable<Row>({
	caption,
	columns,
	rows,
	keyOf,
	isCaptionShown = false,
	findBy,
}: {
	caption: string;
	columns: ListColumn<Row>[];
	rows: readonly Row[];
	keyOf(row: Row): string;
	isCaptionShown?: boolean;
	/** What a visitor may search of a row, where there are many. */
	findBy?(row: Row): string;
}) {
	const [shown, setShown] = useState(pageRows);
	const [order, setOrder] = useState<SortOrder>();
	const [text, setText] = useState("");
	const wanted = text.trim().toLowerCase();
	const found =
		findBy && wanted
			? rows.filter((row) => findBy(row).toLowerCase().includes(wanted))
			: rows;
	const sortBy = columns.find(({ key }) => key === order?.key)?.sortBy;
	const sorted = order && sortBy ? sortedBy(found, sortBy, order) : found;
	const left = sorted.length - shown;
	return (
		<>
			{findBy && (text !== "" || rows.length >= searchedRows) && (
				<TextField
					label={words.find}
					type="search"
					value={text}
					onInput={setText}
				/>
			)}
			{findBy && (
				<p role="status">
					{wanted && words.foundOf(found.length, rows.length)}
				</p>
			)}
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard (WCAG 2.1.1). */}
			<section class="table-box" tabIndex={0} aria-label={caption}>
				<table>
					<caption class={isCaptionShown ? undefined : "visually-hidden"}>
						{caption}
					</caption>
					<thead>
						<tr>
							{columns.map(({ key, title, isNumber, sortBy }) => (
								<th
									key={key}
									scope="col"
									class={isNumber ? "number" : undefined}
									aria-sort={order?.key === key ? order.way : undefined}
								>
									{sortBy ? (
										<button
											type="button"
											class="button-sort"
											onClick={() => setOrder(nextOrder(key, order))}
										>
											{title}
											<span aria-hidden="true">
												{order?.key === key ? arrows[order.way] : ""}
											</span>
										</button>
									) : (
										title
									)}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{sorted.slice(0, shown).map((row) => (
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
