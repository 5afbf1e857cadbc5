import type { SimulatedDay } from "./shard-year.ts";

interface Curve {
	name: string;
	unit: string;
	of(day: SimulatedDay): number;
}

const panel = { width: 330, height: 90, left: 80, top: 26, gap: 14 };
const perRow = 2;

/** A curve for each figure over the days, as an SVG. */
export function graphOf(
	year: readonly SimulatedDay[],
	curves: readonly Curve[],
): string {
	const rows = Math.ceil(curves.length / perRow);
	const cell = {
		width: panel.left + panel.width + panel.gap,
		height: panel.top + panel.height + panel.gap,
	};
	const [width, height] = [perRow * cell.width, rows * cell.height + 16];
	const panels = curves.map((curve, index) => {
		const x = (index % perRow) * cell.width + panel.left;
		const y = Math.floor(index / perRow) * cell.height + panel.top;
		return `<g transform="translate(${x} ${y})">${panelOf(year, curve)}</g>`;
	});
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="#555">`,
		"<title>A shard's archive and its bucket, day by day</title>",
		`<rect width="100%" height="100%" fill="#fff"/>`,
		...panels,
		`<text x="${width / 2}" y="${height - 4}" text-anchor="middle">day</text>`,
		"</svg>\n",
	].join("\n");
}

function panelOf(
	year: readonly SimulatedDay[],
	{ name, unit, of }: Curve,
): string {
	const values = year.map(of);
	const most = Math.max(...values) || 1;
	const days = year.length;
	const x = (index: number) =>
		((index / Math.max(1, days - 1)) * panel.width).toFixed(1);
	const y = (value: number) =>
		(panel.height * (1 - value / (1.1 * most))).toFixed(1);
	const points = values.map((value, index) => `${x(index)},${y(value)}`);
	const ticks = [0, 100, 200, 300, 400].filter((day) => day <= days);
	return [
		`<text x="0" y="-8" font-weight="bold" fill="#222">${name}${unit && `, ${unit}`}</text>`,
		`<path d="M0 0V${panel.height}H${panel.width}" fill="none" stroke="#bbb"/>`,
		...[0, most].map(
			(value) =>
				`<text x="-6" y="${Number(y(value)) + 4}" text-anchor="end">${shortOf(value)}</text>`,
		),
		...ticks.map(
			(day) =>
				`<text x="${x(day)}" y="${panel.height + 12}" text-anchor="middle">${day}</text>`,
		),
		`<polyline points="${points.join(" ")}" fill="none" stroke="#0b6e99" stroke-width="1.5"/>`,
	].join("");
}

function shortOf(value: number): string {
	return value.toLocaleString("en", {
		notation: value >= 10_000 ? "compact" : "standard",
		maximumSignificantDigits: 3,
	});
}
