/** A mutant that no test can notice, and why. */
export interface Equivalent {
	file: string;
	/** The changed expression and what Stryker puts in its place, as `make mutants` prints them. */
	original: string;
	replacement: string;
	reason: string;
}

const committer = "ingest/receive/commit/committer.ts";
/** A second build finds the frame of the first one, or no event. */
const buildsOnce =
	"spares a deferred call for each event of a turn; a second build does nothing";

const claims = "ingest/receive/commit/claims.ts";
const noClaims = "an account with 0 claims counts like one that isn't there";

const schedule = "crds/schedule.ts";
const timing = "operator/pipeline/timing.ts";
const sparesSearch =
	"spares a search; while no Run can start, a slot without a deadline is neither due nor missed";
const interval = "/^(?:(\\d+)h)?(?:(\\d+)m)?$/";
const checkedByCRD = "the CRD's pattern has checked the text";

const deviations = "ingest/archive/decide/deviations.ts";
const sparesParsing = "spares parsing a text that says nothing, or nothing new";

export const equivalents: Equivalent[] = [
	{
		file: committer,
		original: "this.#isBuilding || this.#frame",
		replacement: "false",
		reason: buildsOnce,
	},
	{
		file: committer,
		original: "this.#isBuilding || this.#frame",
		replacement: "this.#isBuilding && this.#frame",
		reason: buildsOnce,
	},
	{
		file: committer,
		original: "true",
		replacement: "false",
		reason: buildsOnce,
	},
	{
		file: committer,
		original: "areTimely(this.#queue, date)",
		replacement: "false",
		reason: "spares grouping the events when none is refused",
	},
	{
		file: "ingest/receive/commit/frame-builder.ts",
		original: "bytes <= maxBytes",
		replacement: "bytes < maxBytes",
		reason: "events that just fit are all chosen fairly, too, in their order",
	},
	{
		file: claims,
		original: "left > 0",
		replacement: "true",
		reason: noClaims,
	},
	{
		file: claims,
		original: "left > 0",
		replacement: "left >= 0",
		reason: noClaims,
	},
	{
		file: "operator/pipeline/run-history.ts",
		original: "a < b",
		replacement: "a <= b",
		reason: "no two Runs are equal, since both texts hold the Run's name",
	},
	{
		file: timing,
		original: "canStart || patienceMs < Infinity",
		replacement: "true",
		reason: sparesSearch,
	},
	{
		file: timing,
		original: "patienceMs < Infinity",
		replacement: "patienceMs <= Infinity",
		reason: sparesSearch,
	},
	{
		file: schedule,
		original: interval,
		replacement: "/(?:(\\d+)h)?(?:(\\d+)m)?$/",
		reason: checkedByCRD,
	},
	{
		file: schedule,
		original: interval,
		replacement: "/^(?:(\\d+)h)?(?:(\\d+)m)?/",
		reason: checkedByCRD,
	},
	{
		file: schedule,
		original: "[]",
		replacement: '["Stryker was here"]',
		reason: checkedByCRD,
	},
	{
		file: "ingest/archive/decide/frame-numbers.ts",
		original: "from <= highest",
		replacement: "from < highest",
		reason: "the highest number is stored or voided, so no gap begins with it",
	},
	{
		file: deviations,
		original: "!violations.includes('\"violations\":')",
		replacement: "false",
		reason: sparesParsing,
	},
	{
		file: deviations,
		original: "!found",
		replacement: "true",
		reason: sparesParsing,
	},
	{
		file: deviations,
		original: "byText.set(violations, found);",
		replacement: ";",
		reason: sparesParsing,
	},
	{
		file: deviations,
		original: "a < b",
		replacement: "a <= b",
		reason: "no two entries have the same key",
	},
	{
		file: deviations,
		original: "a > b",
		replacement: "a >= b",
		reason: "equal times are the same text",
	},
	{
		file: "operator/pipeline/plan-dates.ts",
		original: 'dateRange.end === "Today"',
		replacement: "false",
		reason: "the word Today sorts after every date",
	},
];
