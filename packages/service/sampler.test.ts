import { expect, test } from "vitest";
import { Settings } from "./settings.ts";
import { maxPerAccount, maxPerSecond, readSampler } from "./tracing.ts";

const parent = (isSampled: boolean) => ({
	traceId: "a".repeat(32),
	spanId: "b".repeat(16),
	isSampled,
});

test.each([
	["parentbased_always_on", undefined, undefined, true],
	["parentbased_always_on", undefined, false, false],
	["parentbased_always_off", undefined, undefined, false],
	["parentbased_always_off", undefined, true, true],
	["always_on", undefined, false, true],
	["always_off", undefined, true, false],
	["traceidratio", "0.4", true, false],
	["traceidratio", "0.6", false, true],
	["parentbased_traceidratio", "0.4", undefined, false],
	["parentbased_traceidratio", "0.4", true, true],
])(
	"%s with %s and a parent that is sampled: %s, gives a trace: %s",
	(name, argument, isSampled, isTraced) => {
		const settings = new Settings({
			OTEL_TRACES_SAMPLER: name,
			OTEL_TRACES_SAMPLER_ARG: argument,
		});
		const span = readSampler(settings, () => 0.5).begin(
			"shop",
			isSampled === undefined ? undefined : parent(isSampled),
			0,
		);
		expect(span !== undefined).toBe(isTraced);
	},
);

test("the sender's trace goes on", () => {
	const span = readSampler(new Settings({})).begin("shop", parent(true), 0);
	expect(span?.traceId).toBe("a".repeat(32));
	expect(span?.spanId).not.toBe("b".repeat(16));
});

test("a flood of traced requests into one account leaves traces for others, and all have a limit", () => {
	const { begin } = readSampler(new Settings({}));
	const count = (account: string, nowMs: number) =>
		Array.from({ length: 1_000 }, () =>
			begin(account, parent(true), nowMs),
		).filter(Boolean).length;
	expect(count("flood", 0)).toBe(maxPerAccount);
	expect(count("other", 0)).toBe(maxPerAccount);
	expect(count("flood", 999)).toBe(0);
	let all = 0;
	for (let account = 0; account < 100; account++)
		all += count(`a${account}`, 1_000);
	expect(all).toBe(maxPerSecond);
});

test.each([
	["OTEL_TRACES_SAMPLER", "sometimes", "always_on"],
	["OTEL_TRACES_SAMPLER_ARG", "200%", "from 0 to 1"],
])("%s=%s is refused with what would be right", (name, value, right) => {
	expect(() => readSampler(new Settings({ [name]: value }))).toThrow(
		new RegExp(`${name} is "${value}".*${right}`),
	);
});
