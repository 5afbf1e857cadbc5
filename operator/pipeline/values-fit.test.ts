import { expect, test } from "vitest";
import type { Pipeline, Run, RunStatus } from "../../crds/generated/types.ts";
import {
	ended,
	nowMs,
	stateOf,
	statusAfter,
} from "../../test/support/examples/pipeline-examples.ts";
import { pipelineOf } from "../../test/support/examples/resource-examples.ts";
import { decide } from "./decide.ts";

const notifications = {
	webhooks: { usable: [{ secret: "alerts", sealed: "sealed" }] },
	deliveries: new Map(),
};

function withColumns(): Pipeline {
	const pipeline = pipelineOf();
	const total = { name: "total", bodyPointer: "/total" };
	pipeline.spec.table.bodyColumns = [{ ...total, type: "Integer" }];
	return pipeline;
}

const at = (time: string) => `2026-03-10T${time}Z`;
const unfit = (rows: number) => ({
	unfitValues: [{ column: "total", rows, values: 100, eventID: "e1" }],
});
const loaded = (name: string, time: string, more: Partial<RunStatus> = {}) =>
	ended(name, "Succeeded", at(time), { rows: 100, ...more });

function after(pipeline: Pipeline, runs: Run[]): Pipeline {
	const status = statusAfter(stateOf({ pipeline, runs, notifications }), nowMs);
	return { ...pipeline, status };
}

function seen({ status }: Pipeline) {
	const found = status?.conditions?.find(({ type }) => type === "ValuesFit");
	return found && `${found.status} ${found.reason}`;
}

function told(pipeline: Pipeline, runs: Run[]) {
	return decide(stateOf({ pipeline, runs, notifications }), nowMs).flatMap(
		(action) =>
			action.type === "notify"
				? action.due.map(({ type, run }) => `${type} ${run}`)
				: [],
	);
}

test("ValuesFit follows the latest Run that loaded rows, and says it once", () => {
	const fresh = after(withColumns(), []);
	expect(seen(fresh)).toBeUndefined();
	const bad = [loaded("a", "12:00:00", unfit(100))];
	expect(told(fresh, bad)).toEqual(["ValuesUnfit a"]);
	const wrong = after(fresh, bad);
	expect(seen(wrong)).toBe("False Unfit");
	const [condition] = wrong.status!.conditions!.filter(
		({ type }) => type === "ValuesFit",
	);
	expect(condition!.message).toMatch(
		/^100 of 100 values of column "total" \(100 %\) .* event e1\..*Run "a"/,
	);
	// Pruned, failed, empty, or still wrong.
	expect(told(wrong, [])).toEqual([]);
	expect(seen(after(wrong, []))).toBe("False Unfit");
	const empty = [...bad, loaded("b", "12:10:00", { rows: 0 })];
	expect(seen(after(wrong, empty))).toBe("False Unfit");
	const still = [...bad, loaded("b", "12:10:00", unfit(2))];
	expect(told(wrong, still)).toEqual([]);
	const failed = [...still, ended("c", "Failed", at("12:20:00"))];
	expect(seen(after(fresh, failed))).toBe("False Unfit");
	const good = [...bad, loaded("b", "12:10:00")];
	expect(told(wrong, good)).toEqual(["ValuesRecovered b"]);
	expect(seen(after(wrong, good))).toBe("True Fit");
});

test("a Run whose values nearly all fit says nothing, and neither does one without columns from the body", () => {
	const few = [loaded("a", "12:00:00", { ...unfit(1) })];
	few[0]!.status!.unfitValues![0]!.values = 1_000;
	const fresh = after(withColumns(), []);
	expect(told(fresh, few)).toEqual([]);
	expect(seen(after(fresh, few))).toBe("True Fit");
	const plain = after(pipelineOf(), []);
	const runs = [loaded("a", "12:00:00", unfit(100))];
	expect(told(plain, runs)).toEqual([]);
	expect(seen(after(plain, runs))).toBeUndefined();
});

test("the notifications can be chosen", () => {
	const pipeline = withColumns();
	pipeline.spec.notify = { types: ["RunFailed"] };
	const runs = [loaded("a", "12:00:00", unfit(100))];
	expect(told(after(pipeline, []), runs)).toEqual([]);
});
