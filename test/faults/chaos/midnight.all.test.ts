// In make test: test/promises/answered-event-is-kept.laptop.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import { planDates } from "../../../operator/pipeline/plan-dates.ts";
import { startOfDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import {
	layout,
	pipelineOf,
} from "../../support/examples/resource-examples.ts";
import { randomOf } from "../../support/seeded-random.ts";
import { sendJSON } from "../../support/senders/http-client.ts";
import { md5 } from "../../support/senders/persistent-sender.ts";
import { project } from "../../support/servers/role-server.ts";
import { loadTable } from "./load.ts";
import { eventually } from "./scene/violation.ts";
import { type Stack, startStack } from "./stack.ts";

let stack: Stack;
beforeAll(async () => {
	stack = await startStack();
});
afterAll(() => stack?.stop());

test("a Run made seconds after midnight holds what was answered after midnight, though the operator's clock says the day before", async () => {
	const scene = await stack.scene(project, randomOf(1), {
		hasNatsClock: false,
	});
	scene.clock.moveBeforeMidnight(-10_000);
	const body = JSON.stringify({ sent: "after midnight" });
	// Not the Source that has a tracking plan.
	const route = 1;
	await eventually("progress", async () => {
		const { status } = await sendJSON(scene.urls[route]!, body, {});
		return status === 200 ? undefined : `receive answers ${status}`;
	});
	const today = utcDate(scene.clock.now());
	// 20 s behind, or more on a busy machine.
	const operatorNow = Math.min(
		scene.clock.now() - 20_000,
		startOfDate(today) - 1,
	);
	const plan = planDates(pipelineOf().spec, layout, undefined, {}, operatorNow);
	if ("problem" in plan) throw new Error(plan.problem.message);
	const { table } = await loadTable(scene, scene.routes[route]!, project, plan);
	// What was answered 503 before may be there, too.
	expect(table.map(({ digest }) => digest)).toContain(md5(body));
});
