import { expect, test } from "vitest";
import type { KubeObject } from "../resource.ts";
import { KubeObjectStore } from "./store.ts";

interface Pet extends KubeObject {
	owner?: string;
}

function pet(name: string, version: string, rest: Partial<Pet> = {}): Pet {
	return {
		metadata: {
			name,
			namespace: "home",
			uid: `uid-${name}`,
			resourceVersion: version,
		},
		...rest,
	};
}

function watched() {
	const errors: unknown[] = [];
	const store = new KubeObjectStore<Pet>((error) => errors.push(error));
	const seen: string[] = [];
	store.onChange(({ metadata }, previous, deleted) =>
		seen.push(
			`${deleted ? "-" : previous ? "~" : "+"}${metadata.name}@${metadata.resourceVersion}`,
		),
	);
	return { store, seen, errors };
}

test("a list reports what is new, changed or gone, and nothing else", () => {
	const { store, seen } = watched();
	store.replace(undefined, [pet("a", "1"), pet("b", "1"), pet("c", "1")]);
	seen.length = 0;
	store.replace(undefined, [pet("a", "1"), pet("b", "2"), pet("d", "1")]);
	expect(seen).toEqual(["-c@1", "~b@2", "+d@1"]);
});

test("a list of one namespace leaves the others untouched", () => {
	const { store } = watched();
	const away = pet("away", "1");
	away.metadata.namespace = "elsewhere";
	store.put(away);
	store.replace("home", [pet("a", "1")]);
	expect(store.list().map(({ metadata }) => metadata.name)).toEqual([
		"away",
		"a",
	]);
	expect(store.list("home")).toHaveLength(1);
});

test("a new object under a former name is a deletion, then an addition", () => {
	const { store, seen } = watched();
	store.put(pet("a", "1"));
	const reborn = pet("a", "9");
	reborn.metadata.uid = "another";
	store.replace(undefined, [reborn]);
	expect(seen).toEqual(["+a@1", "-a@1", "+a@9"]);
});

test("an index follows every change", () => {
	const { store } = watched();
	store.put(pet("early", "1", { owner: "ann" }));
	const petsOf = store.index(({ owner }) => (owner ? [owner] : []));
	const names = (owner: string) => petsOf(owner).map((p) => p.metadata.name);
	store.put(pet("late", "1", { owner: "ann" }));
	expect(names("ann")).toEqual(["early", "late"]);
	store.put(pet("early", "2", { owner: "bob" }));
	expect([names("ann"), names("bob")]).toEqual([["late"], ["early"]]);
	store.remove(pet("late", "2"));
	expect(names("ann")).toEqual([]);
});

test("a handler that throws affects neither the store nor the other handlers", () => {
	const { store, seen, errors } = watched();
	store.onChange(() => {
		throw new Error("no");
	});
	let after = 0;
	store.onChange(() => after++);
	store.put(pet("a", "1"));
	expect([seen.length, errors.length, after]).toEqual([1, 1, 1]);
});
