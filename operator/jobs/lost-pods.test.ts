import { expect, test } from "vitest";
import type { Pod } from "../../packages/kube/kinds.ts";
import { lostPodOf, lostPodText, nextLossMs } from "./lost-pods.ts";

const now = Date.parse("2026-03-31T12:00:00Z");

/** A Pod that was to end so many seconds ago; a negative number lies ahead. */
function pod(secondsAgo: number | undefined, phase = "Running"): Pod {
	return {
		metadata: {
			name: "r-x",
			namespace: "shop",
			...(secondsAgo !== undefined && {
				deletionTimestamp: new Date(now - secondsAgo * 1_000).toISOString(),
			}),
		},
		spec: { nodeName: "n1" } as NonNullable<Pod["spec"]>,
		status: { phase },
	};
}

test.each<[string, Pod, boolean]>([
	["runs", pod(undefined), false],
	["is to end in its grace period", pod(-30), false],
	["was to end a moment ago", pod(59), false],
	["was to end a minute ago", pod(60), true],
	["has ended, and waits for a finalizer", pod(600, "Failed"), false],
])("a Pod that %s counts as lost: %3$j", (_, one, isLost) => {
	expect(lostPodOf([pod(undefined), one], now) !== undefined).toBe(isLost);
});

test("the text names the Pod, the node and what frees it", () => {
	const lost = lostPodOf([pod(90)], now)!;
	expect(lost.leftMs).toBe(570_000);
	const text = lostPodText(lost);
	for (const words of [
		'Pod "r-x" on node "n1" was to end by 2026-03-31T11:58:30Z',
		"kubectl delete node n1",
		"kubectl taint node n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
		"kubectl delete pod r-x -n shop --force",
	])
		expect(text).toContain(words);
});

test("a Pod that is to end is looked at again when it would count as lost", () => {
	expect(nextLossMs([pod(undefined)], now)).toBeUndefined();
	expect(nextLossMs([pod(-30), pod(20)], now)).toBe(40_000);
});
