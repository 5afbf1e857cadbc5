import { expect, test } from "vitest";
import { pod } from "../../test/support/fixtures/pod-fixture.ts";
import { decide, type LocalPod } from "./decide.ts";
import { failures } from "./pod.ts";

const now = Date.parse("2026-01-01T00:01:00Z");
const fresh = { startedBefore: false, unsupported: undefined };
const running: LocalPod = { isRunning: true, hasEnded: false };
const ended: LocalPod = { isRunning: false, hasEnded: true };
const deleted = {
	deletionTimestamp: "2026-01-01T00:01:30Z",
	deletionGracePeriodSeconds: 30,
};
const killAtMs = Date.parse(deleted.deletionTimestamp);
const startTime = "2026-01-01T00:00:00Z";

test("a Pod is started, and its state is reported", () => {
	expect(decide(pod(), undefined, fresh, now)).toEqual({ do: "start" });
	expect(decide(pod(), running, fresh, now)).toEqual({ do: "report" });
	expect(decide(pod(), ended, fresh, now)).toEqual({ do: "report" });
});

test("a Pod fails when it can't run here or a former node process started it", () => {
	const unsupported = { ...fresh, unsupported: "no" };
	expect(decide(pod(), undefined, unsupported, now)).toEqual({
		do: "fail",
		failure: failures.unsupported("no"),
	});
	const startedBefore = { ...fresh, startedBefore: true };
	expect(decide(pod(), undefined, startedBefore, now)).toEqual({
		do: "fail",
		failure: failures.nodeRestarted,
	});
});

test("a deleted Pod is stopped, reported, deleted, and then left to its finalizers", () => {
	expect(decide(pod(deleted), running, fresh, now)).toEqual({
		do: "stop",
		killAtMs,
	});
	expect(decide(pod(deleted), ended, fresh, now)).toEqual({ do: "report" });
	const done = pod(deleted, {}, { phase: "Failed" });
	expect(decide(done, ended, fresh, now)).toEqual({ do: "delete" });
	const told = pod(
		{ ...deleted, deletionGracePeriodSeconds: 0 },
		{},
		{ phase: "Failed" },
	);
	expect(decide(told, ended, fresh, now)).toEqual({ do: "rest" });
});

test("a Pod that is deleted before its start fails, so that its Job goes on", () => {
	expect(decide(pod(deleted), undefined, fresh, now)).toEqual({
		do: "fail",
		failure: failures.deleted,
	});
});

test("a Pod past its deadline is stopped within its grace period", () => {
	const limited = (activeDeadlineSeconds: number) =>
		pod(
			{},
			{ activeDeadlineSeconds, terminationGracePeriodSeconds: 5 },
			{ startTime, phase: "Running" },
		);
	expect(decide(limited(61), running, fresh, now)).toEqual({
		do: "report",
		requeueAtMs: now + 1_000,
	});
	expect(decide(limited(60), running, fresh, now)).toEqual({
		do: "stop",
		failure: failures.deadlineExceeded,
		killAtMs: now + 5_000,
	});
	expect(decide(limited(60), undefined, fresh, now)).toEqual({
		do: "fail",
		failure: failures.deadlineExceeded,
	});
});

test("a deadline counts from the start on the node, so a new Pod has none yet", () => {
	const limited = pod({}, { activeDeadlineSeconds: 60 });
	expect(decide(limited, undefined, fresh, now)).toEqual({
		do: "start",
		requeueAtMs: undefined,
	});
});

test("a stopping Pod may get less time, but never more", () => {
	const stopping = { ...running, killAtMs: killAtMs - 20_000 };
	const stop = { do: "stop", killAtMs: killAtMs - 20_000 };
	expect(decide(pod(), stopping, fresh, now)).toEqual(stop);
	expect(decide(pod(deleted), stopping, fresh, now)).toEqual(stop);
	const later = { ...running, killAtMs: killAtMs + 20_000 };
	expect(decide(pod(deleted), later, fresh, now)).toEqual({
		do: "stop",
		killAtMs,
	});
});

test("a Pod that has ended stays as it is", () => {
	for (const phase of ["Succeeded", "Failed"])
		expect(decide(pod({}, {}, { phase }), undefined, fresh, now)).toEqual({
			do: "rest",
		});
});
