import type { Store } from "../../../packages/bucket/object-store.ts";

/** A store whose functions are another's, but for those that a test changes. */
export function storeWith(store: Store, changed: Partial<Store>): Store {
	return new Proxy(store, {
		get(target, name) {
			if (name in changed) return Reflect.get(changed, name);
			const value = Reflect.get(target, name, target);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
}
