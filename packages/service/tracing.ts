import type { Logger } from "./log.ts";
import { readSampler, type Sampler } from "./sampler.ts";
import type { Settings } from "./settings.ts";
import type { FinishedSpan } from "./span.ts";

export interface Tracing {
	sampler: Sampler;
	/** Never throws, and never waits: spans that the collector doesn't take are dropped. */
	record(span: FinishedSpan): void;
	/** Sends what is left, for a few seconds at most. */
	stop(): Promise<void>;
}

/**
 * Traces of this process, if OTEL_EXPORTER_OTLP_ENDPOINT names a collector; undefined otherwise. Then the packages aren't even
 * loaded. Throws SettingError.
 */
export async function openTracing(
	role: string,
	settings: Settings,
	log: Logger,
): Promise<Tracing | undefined> {
	if (settings.optional("OTEL_EXPORTER_OTLP_ENDPOINT") === undefined)
		return undefined;
	settings.url("OTEL_EXPORTER_OTLP_ENDPOINT");
	const sampler = readSampler(settings);
	const { openExporter } = await import("./exporter.ts");
	return { sampler, ...openExporter(role, log) };
}
