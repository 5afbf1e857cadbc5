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

const room = "packages/fair/fair-room.ts";
const nothingTaken = "an owner of 0 counts like one that isn't there";

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
		file: room,
		original: "left > 0",
		replacement: "true",
		reason: nothingTaken,
	},
	{
		file: room,
		original: "left > 0",
		replacement: "left >= 0",
		reason: nothingTaken,
	},
	{
		file: "operator/pipeline/run-history.ts",
		original: "a < b",
		replacement: "a <= b",
		reason: "no two Runs are equal, since both texts hold the Run's name",
	},
	{
		file: timing,
		original: "canStart || timeoutMs < Infinity",
		replacement: "true",
		reason: sparesSearch,
	},
	{
		file: timing,
		original: "timeoutMs < Infinity",
		replacement: "timeoutMs <= Infinity",
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
		file: "ingest/archive/decide/frame-numbers.ts",
		original: "movedMs === 0",
		replacement: "false",
		reason: "spares copying what doesn't move",
	},
	{
		file: "operator/pipeline/load-quota.ts",
		original: "loadsPerDay / count < loadsPerTableAndDay",
		replacement: "loadsPerDay / count <= loadsPerTableAndDay",
		reason: "no number of tables gives each of them just the quota of a table",
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
		file: "operator/pipeline/plan-dates.ts",
		original: 'end !== "Today"',
		replacement: "true",
		reason: "the word Today sorts after every date",
	},
];
