import type { Logger } from "./log.ts";
import { SettingError, type Settings } from "./settings.ts";
import {
	type FinishedSpan,
	newContext,
	type RemoteContext,
	type TraceContext,
} from "./trace-context.ts";

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

/** Of one account, and of all together, in one process and second. A sender asks for a trace by a header, so it has a limit. */
export const maxPerAccount = 10;
export const maxPerSecond = 100;

/** Decides which requests have a trace. */
interface Sampler {
	/** The span of a request; undefined for one without a trace. */
	begin(
		account: string,
		parent: RemoteContext | undefined,
		nowMs: number,
	): TraceContext | undefined;
}

const names = [
	"always_on",
	"always_off",
	"traceidratio",
	"parentbased_always_on",
	"parentbased_always_off",
	"parentbased_traceidratio",
];

/**
 * By OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG
 * (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). Throws {@link SettingError}.
 */
export function readSampler(
	settings: Settings,
	random: () => number = Math.random,
): Sampler {
	const name = settings.text("OTEL_TRACES_SAMPLER", "parentbased_always_on");
	if (!names.includes(name))
		throw new SettingError(
			`OTEL_TRACES_SAMPLER is "${name}". It must be one of ${names.join(", ")}.`,
		);
	const text = settings.text("OTEL_TRACES_SAMPLER_ARG", "1");
	const ratio = Number(text);
	if (!(ratio >= 0 && ratio <= 1))
		throw new SettingError(
			`OTEL_TRACES_SAMPLER_ARG is "${text}". It must be a number from 0 to 1.`,
		);
	const share = name.endsWith("always_off")
		? 0
		: name.endsWith("always_on")
			? 1
			: ratio;
	const followsParent = name.startsWith("parentbased");
	let second = Number.NaN;
	let all = 0;
	const byAccount = new Map<string, number>();
	return {
		begin(account, parent, nowMs) {
			const isWanted =
				followsParent && parent ? parent.isSampled : random() < share;
			if (!isWanted) return undefined;
			const current = Math.floor(nowMs / 1000);
			if (current !== second) {
				second = current;
				all = 0;
				byAccount.clear();
			}
			const own = byAccount.get(account) ?? 0;
			if (all >= maxPerSecond || own >= maxPerAccount) return undefined;
			all++;
			byAccount.set(account, own + 1);
			return newContext(parent);
		},
	};
}
