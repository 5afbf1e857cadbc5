import { expect, test } from "vitest";
import { environmentOf, newTrial, trialUnderWay } from "./trial.ts";

const env = { TIDEMILL_BIGQUERY_PROJECT: "my-project" };

test("each trial has a dataset with a new name, whatever the environment names", () => {
	const given = { ...env, TIDEMILL_BIGQUERY_DATASET: "events" };
	const names = [1, 2].map(() => newTrial(given)?.dataset);
	for (const name of names) expect(name).toMatch(/^tidemill_test_\w{12}$/);
	expect(new Set(names).size).toBe(2);
});

test("the process that goes on with a trial has its dataset", () => {
	const trial = newTrial(env)!;
	expect(trialUnderWay({ ...env, ...environmentOf(trial) })).toEqual(trial);
});

test.each([undefined, "", "events", "my_tidemill_test_1"])(
	"dataset %s is no trial's",
	(dataset) => {
		const given = { ...env, TIDEMILL_BIGQUERY_DATASET: dataset };
		expect(trialUnderWay(given)).toBeUndefined();
	},
);

test("without a project there is no trial", () => {
	const dataset = { TIDEMILL_BIGQUERY_DATASET: "tidemill_test_1" };
	expect(newTrial({})).toBeUndefined();
	expect(trialUnderWay(dataset)).toBeUndefined();
});
