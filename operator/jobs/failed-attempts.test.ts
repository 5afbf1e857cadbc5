import { expect, test } from "vitest";
import type { Pod } from "../../packages/kube/kinds.ts";
import { terminated } from "../../test/support/doubles/kubernetes/terminated-pod.ts";
import { failedAttempts } from "./outcome.ts";

const pod = (minute: number, status: Pod["status"]): Pod => ({
	metadata: {
		name: `load-${minute}`,
		creationTimestamp: `2026-03-01T12:0${minute}:00Z`,
	},
	status: status!,
});

const failed = (code: string) =>
	terminated({
		exitCode: 75,
		reason: "Error",
		finishedAt: "2026-03-01T12:09:00Z",
		message: JSON.stringify({
			version: 1,
			outcome: "Failed",
			error: { code, message: "in use", retryable: true },
			log: `${code}\n`,
		}),
	});

const attempt = (minute: number, code: string) => ({
	pod: `load-${minute}`,
	completionTime: "2026-03-01T12:09:00Z",
	code,
	message: "in use",
	log: `${code}\n`,
});

const running = { phase: "Running" };

test("an attempt that failed is recorded while the next one runs, and when that has ended", () => {
	const first = pod(1, failed("DestinationBusy"));
	const recorded = { failedAttempts: [attempt(1, "DestinationBusy")] };
	expect(failedAttempts([], [pod(2, running), first], false)).toEqual(recorded);
	const good = terminated({ exitCode: 0, reason: "Completed", message: "{}" });
	expect(failedAttempts([], [first, pod(2, good)], true)).toEqual(recorded);
	const last = pod(2, failed("ScratchFull"));
	expect(failedAttempts([], [first, last], true)).toEqual(recorded);
	// Until the Job is over, nobody knows that it was the last one.
	const both = [...recorded.failedAttempts, attempt(2, "ScratchFull")];
	expect(failedAttempts([], [first, last], false)).toEqual({
		failedAttempts: both,
	});
	expect(failedAttempts(both, [last], true)).toEqual(recorded);
});

test("attempts stay when their Pods are gone, the last five of them", () => {
	const codes = ["A", "B", "C", "D", "E", "F"];
	const known = codes.slice(0, 4).map((code, n) => attempt(n, code));
	expect(failedAttempts(known, [], true)).toEqual({ failedAttempts: known });
	const pods = codes.map((code, n) => pod(n, failed(code)));
	expect(failedAttempts(known, pods, false)).toEqual({
		failedAttempts: codes.map((code, n) => attempt(n, code)).slice(1),
	});
});

test("a first attempt has no list, and the only attempt of a Job has none", () => {
	expect(failedAttempts(undefined, [pod(1, running)], false)).toEqual({});
	expect(failedAttempts(undefined, [pod(1, failed("A"))], true)).toEqual({});
});

test("an attempt that was killed has its reason and the end of its log", () => {
	const killed = terminated({
		exitCode: 137,
		reason: "OOMKilled",
		message: "the last line\n",
	});
	expect(failedAttempts([], [pod(1, killed), pod(2, running)], false)).toEqual({
		failedAttempts: [
			{
				pod: "load-1",
				code: "OOMKilled",
				message: expect.stringContaining("exceeded its memory limit"),
				log: "the last line\n",
			},
		],
	});
});
