import { expect, test } from "vitest";
import { type JobLimits, type JobOwner, JobSlots } from "./slots.ts";

/** Slots, and the Runs that were notified of theirs. A Run is `namespace/age`. */
function slotsOf(limits: JobLimits) {
	const notified: string[] = [];
	const slots = new JobSlots(limits);
	slots.onFree("Run", ({ namespace, name }) =>
		notified.push(`${namespace}/${name}`),
	);
	slots.onFree("Destination", ({ namespace, name }) =>
		notified.push(`check ${namespace}/${name}`),
	);
	const take = (run: string) => slots.take(runOf(run), runOf(run).name);
	return {
		slots,
		notified,
		take,
		release: (run: string) => slots.release(runOf(run)),
	};
}

function runOf(text: string): JobOwner {
	const [namespace = "", name = ""] = text.split("/");
	return { kind: "Run", namespace, name };
}

function checkOf(text: string): JobOwner {
	return { ...runOf(text), kind: "Destination" };
}

test("a namespace gets no more slots than its limit, and the others still get theirs", () => {
	const { take } = slotsOf({ overall: 10, perNamespace: 2 });
	expect([take("a/1"), take("a/2")]).toEqual([undefined, undefined]);
	expect(take("a/3")).toEqual({ ahead: 0, heldInNamespace: 2, held: 2 });
	expect(take("a/4")).toEqual({ ahead: 1, heldInNamespace: 2, held: 2 });
	expect(take("b/1")).toBeUndefined();
});

test("a Run that has a slot keeps it, however often it asks", () => {
	const { take, notified } = slotsOf({ overall: 1, perNamespace: 1 });
	expect([take("a/1"), take("a/1")]).toEqual([undefined, undefined]);
	expect(take("a/2")).toMatchObject({ held: 1 });
	expect(notified).toEqual([]);
});

test("a free slot goes to the oldest Run of the namespace that holds the fewest", () => {
	const { take, release, notified } = slotsOf({ overall: 3, perNamespace: 3 });
	for (const run of ["a/1", "a/2", "a/3"]) take(run);
	// The older ones ask later.
	for (const run of ["a/5", "a/4", "b/7", "b/6", "c/8"]) take(run);
	for (const run of ["a/1", "a/2", "a/3"]) release(run);
	expect(notified).toEqual(["b/6", "c/8", "a/4"]);
	release("b/6");
	release("c/8");
	expect(notified.slice(3)).toEqual(["b/7", "a/5"]);
});

test("a Run that no longer waits gets no slot, and gives back one that it got", () => {
	const { take, release, notified } = slotsOf({ overall: 1, perNamespace: 1 });
	for (const run of ["a/1", "a/2", "a/3"]) take(run);
	release("a/2");
	release("a/1");
	expect(notified).toEqual(["a/3"]);
	release("a/3");
	expect(take("b/1")).toBeUndefined();
});

test("Jobs that are there already count, even beyond the limit", () => {
	const { slots, take, release, notified } = slotsOf({
		overall: 2,
		perNamespace: 2,
	});
	for (const run of ["a/1", "a/2", "b/1"]) slots.hold(runOf(run));
	expect(take("c/1")).toEqual({ ahead: 0, heldInNamespace: 0, held: 3 });
	release("a/1");
	expect(notified).toEqual([]);
	release("a/2");
	expect(notified).toEqual(["c/1"]);
});

test("checks and Runs share the limits, and names that both have are two", () => {
	const { slots, take, release, notified } = slotsOf({
		overall: 2,
		perNamespace: 2,
	});
	expect(take("a/1")).toBeUndefined();
	expect(slots.take(checkOf("a/1"), "1")).toBeUndefined();
	expect(slots.take(checkOf("a/2"), "2")).toEqual({
		ahead: 0,
		heldInNamespace: 2,
		held: 2,
	});
	expect(take("a/3")).toMatchObject({ ahead: 1 });
	release("a/1");
	expect(notified).toEqual(["check a/2"]);
	slots.release(checkOf("a/1"));
	expect(notified).toEqual(["check a/2", "a/3"]);
});
