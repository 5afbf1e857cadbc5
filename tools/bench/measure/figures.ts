import type { Conditions } from "./machine.ts";
import type { Goal, Measurement, Spread } from "./measurement.ts";

/** In Markdown, as tools/bench/README.md has it: medians with the least and the most of the rounds. */
export function tableOf(
	bench: string,
	measurements: readonly Measurement[],
	{ date, commit, cpu, node, load, settings }: Conditions,
): string {
	const rows = [
		[bench, "value", "baseline", "ratio", "rounds", "goal"],
		["---", "---", "---", "---", "---", "---"],
		...measurements.map(cellsOf),
	];
	const table = rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
	const [before, after] = load.map((average) => average.toFixed(1));
	return `${table}\n\n${date.slice(0, 10)}, commit ${commit}, ${settings && `${settings}, `}${cpu}, Node ${node}, load average ${before} and then ${after}.`;
}

function cellsOf(measurement: Measurement): string[] {
	const { metric, unit, rounds, goal } = measurement;
	const withUnit = (text: string) => (text && unit ? `${text} ${unit}` : text);
	return [
		metric,
		withUnit(spread(measurement.value, measurement.spread)),
		withUnit(spread(measurement.baseline, measurement.baselineSpread)),
		spread(measurement.ratio, measurement.ratioSpread),
		String(rounds),
		goal ? goalText(goal, unit) : "",
	];
}

function spread(value: number | undefined, range: Spread | undefined): string {
	if (value === undefined || !range) return "";
	const [least, most] = range.map(figureText);
	const middle = figureText(value);
	return least === most ? middle : `${middle} (${least}–${most})`;
}

function goalText(goal: Goal, unit: string): string {
	const bounds: [sign: string, bound: number | undefined, of: string][] = [
		["≥", goal.atLeast, unit && ` ${unit}`],
		["≤", goal.atMost, unit && ` ${unit}`],
		["ratio ≥", goal.ratioAtLeast, ""],
		["ratio ≤", goal.ratioAtMost, ""],
	];
	return bounds
		.filter(([, bound]) => bound !== undefined)
		.map(([sign, bound, of]) => `${sign} ${figureText(bound!)}${of}`)
		.join(", ");
}

/** Three digits or more. */
function figureText(value: number): string {
	const size = Math.abs(value);
	const decimals = size >= 100 ? 0 : size >= 10 ? 1 : 2;
	return value.toLocaleString("en", { maximumFractionDigits: decimals });
}
