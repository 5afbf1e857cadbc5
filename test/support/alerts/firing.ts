import { execFile } from "node:child_process";
import { join } from "node:path";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";

/** What roles told Prometheus at one moment: the answers of their /metrics. */
export interface Scrape {
	atMs: number;
	/** By instance. */
	texts: readonly string[];
}

export interface FiringAlert {
	alert: string;
	labels: Record<string, string>;
	annotations: Record<string, string>;
}

export interface AlertSeries {
	/** With `__name__`. */
	labels: Record<string, string>;
	start: number;
	/** Added each minute. */
	step: number;
}

export const alertsFile = join(
	import.meta.dirname,
	"../../../charts/tidemill/files/alerts.yaml",
);

/** An hour is longer than any rule waits. */
const minutes = 60;

/** Asks the roles at these health addresses. */
export async function scrape(...healthUrls: string[]): Promise<Scrape> {
	const texts = await Promise.all(
		healthUrls.map(async (url) => (await fetch(`${url}/metrics`)).text()),
	);
	return { atMs: Date.now(), texts };
}

/**
 * The names of the chart's alerts that would fire if it went on for an hour as it is now, or as it has gone on since `before`.
 * Prometheus' own engine judges.
 */
export async function firing(now: Scrape, before?: Scrape): Promise<string[]> {
	const alerts = await firingOn(seriesOf(now, before), now.atMs);
	return [...new Set(alerts.map(({ alert }) => alert))].toSorted();
}

/** @param startMs time of the first sample, in milliseconds since 1970. @param rulesFile the chart's alerts unless given. */
export async function firingOn(
	series: readonly AlertSeries[],
	startMs = Date.now(),
	rulesFile = alertsFile,
): Promise<FiringAlert[]> {
	const binaries = await resolveBinaries(["alert-rules"]);
	return new Promise((resolve, reject) => {
		const child = execFile(
			binaries["alert-rules"],
			[rulesFile],
			(error, stdout) => (error ? reject(error) : resolve(JSON.parse(stdout))),
		);
		child.stdin!.end(
			JSON.stringify({ startMs: Math.round(startMs), minutes, series }),
		);
	});
}

export function seriesOf(now: Scrape, before?: Scrape): AlertSeries[] {
	const former = before && samplesOf(before);
	const elapsedMs = before ? now.atMs - before.atMs : 0;
	return [...samplesOf(now)].map(([key, { labels, value }]) => {
		const was = former?.get(key)?.value ?? (isCounter(key) ? 0 : value);
		const grown = former ? value - was : 0;
		return {
			labels,
			start: value,
			step: elapsedMs > 0 ? (grown / elapsedMs) * 60_000 : 0,
		};
	});
}

function isCounter(key: string): boolean {
	return key.split("{")[0]!.endsWith("_total");
}

/** Tidemill's own samples and those of its machinery. What a process tells of itself is in no alert. */
function samplesOf({ texts }: Scrape) {
	const samples = new Map<
		string,
		{ labels: Record<string, string>; value: number }
	>();
	for (const [instance, text] of texts.entries())
		for (const line of text.split("\n")) {
			const [, name, inner = "", figure] =
				/^((?:tidemill|controller_runtime|leader_election|workqueue)\w*)(?:\{(.*)\})? (\S+)$/.exec(
					line,
				) ?? [];
			const value = Number(figure);
			if (name === undefined || !Number.isFinite(value)) continue;
			const labels: Record<string, string> = {
				__name__: name,
				instance: String(instance),
			};
			for (const [, label, quoted] of inner.matchAll(
				/(\w+)="((?:[^"\\]|\\.)*)"/g,
			))
				labels[label!] = quoted!;
			samples.set(`${name}{${inner}}${instance}`, { labels, value });
		}
	return samples;
}
