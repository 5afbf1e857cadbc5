import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
// yaml: reads YAML 1.2.
import { parse } from "yaml";
import { resolveBinaries } from "../../../local/binaries/resolve.ts";
import { temporaryDirectory } from "../servers/test-server.ts";

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

export interface RulesFile {
	groups: { name: string; labels?: { exporter: string }; rules: Rule[] }[];
}

export interface Rule {
	alert: string;
	expr: string;
	labels: Record<"severity" | "exporter" | "component", string | undefined>;
	annotations: Record<"summary" | "description" | "runbook_url", string>;
}

/** An hour is longer than any rule waits. */
const minutes = 60;

/** What the chart lets Prometheus add to all that it scrapes of one release. */
export const targetLabels = {
	namespace: "tidemill-system",
	app_kubernetes_io_instance: "tidemill",
};

/** Prometheus reaches each process of the release. */
export const allUp: AlertSeries[] = [
	"receive",
	"archive",
	"operator",
	"api",
	"notify",
].map((component) => ({
	labels: {
		__name__: "up",
		...targetLabels,
		app_kubernetes_io_component: component,
		tidemill_dev_shards: component === "archive" ? "group-0" : "",
	},
	start: 1,
	step: 0,
}));

/** The chart's rules about our own metrics, for one shard, as Helm renders them (test/chart/alerts.all.test.ts compares). */
export function ownRules(): RulesFile["groups"][number] {
	const file = join(
		import.meta.dirname,
		"../../../charts/tidemill/files/alerts.yaml",
	);
	const filledIn = readFileSync(file, "utf8")
		.replaceAll(
			"$(release)",
			Object.entries(targetLabels)
				.map(([name, value]) => `${name}="${value}"`)
				.join(),
		)
		.replaceAll("$(installation)", "tidemill-system/tidemill")
		.replaceAll("$(namespace)", "tidemill-system")
		.replaceAll("$(fullname)", "tidemill")
		.replaceAll("$(archives)", "1");
	const [own] = (parse(filledIn) as RulesFile).groups;
	return own!;
}

let ownRulesFile: Promise<string> | undefined;

/** Writes rules for `firingOn`. */
export async function writeRules(file: object): Promise<string> {
	const path = join(await temporaryDirectory("alerts"), "rules.yaml");
	// JSON is YAML.
	await writeFile(path, JSON.stringify(file));
	return path;
}

/** Asks the roles at these health addresses. */
export async function scrape(...healthUrls: string[]): Promise<Scrape> {
	const texts = await Promise.all(
		healthUrls.map(async (url) => (await fetch(`${url}/metrics`)).text()),
	);
	return { atMs: Date.now(), texts };
}

/**
 * The names of the chart's alerts that would fire if it went on for an hour as it is now, or as it has gone on since `before`.
 * Prometheus' own engine validates.
 */
export async function firing(now: Scrape, before?: Scrape): Promise<string[]> {
	const alerts = await firingOn([...allUp, ...seriesOf(now, before)], now.atMs);
	return [...new Set(alerts.map(({ alert }) => alert))].toSorted();
}

/**
 * @param startMs time of the first sample, in milliseconds since 1970.
 * @param rulesFile the chart's alerts about our own metrics unless given.
 */
export async function firingOn(
	series: readonly AlertSeries[],
	startMs = Date.now(),
	rulesFile?: string,
): Promise<FiringAlert[]> {
	ownRulesFile ??= writeRules({ groups: [ownRules()] });
	const file = rulesFile ?? (await ownRulesFile);
	const binaries = await resolveBinaries(["alert-rules"]);
	return new Promise((resolve, reject) => {
		const child = execFile(binaries["alert-rules"], [file], (error, stdout) =>
			error ? reject(error) : resolve(JSON.parse(stdout)),
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
				...targetLabels,
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
