import { type Route, routeKey, syncedKey } from "../../contracts/route.ts";

/**
 * What is known of the routes bucket. A whole new reading of the bucket (after a reconnect, or because the bucket was
 * made anew) replaces the table once it is complete, so that every URL that was served goes on being served meanwhile.
 * A bucket that lost its content replaces nothing until operator has filled it and marked it `synced`.
 */
export class RouteTable {
	#served = new Reading();
	#incoming: Reading | undefined;

	/** Operator has marked the bucket complete: a URL that isn't known doesn't exist. */
	get isSynced(): boolean {
		return this.#served.isSynced;
	}

	find(sourceKey: string): Route | undefined {
		return this.#served.routes.get(routeKey(sourceKey));
	}

	/** A new reading of the bucket begins. */
	begin(): void {
		this.#incoming = new Reading();
	}

	/** A key's value in the reading that began last; undefined when the key was deleted. Throws if it can't be read. */
	set(key: string, value: string | undefined): void {
		const reading = this.#incoming ?? this.#served;
		if (key === syncedKey) reading.isSynced = value !== undefined;
		else if (value === undefined) reading.routes.delete(key);
		else reading.routes.set(key, parseRoute(value));
		this.#replaceIfBetter();
	}

	/** All that stood in the bucket when the reading began has been set. */
	complete(): void {
		if (this.#incoming) this.#incoming.isComplete = true;
		this.#replaceIfBetter();
	}

	#replaceIfBetter(): void {
		const incoming = this.#incoming;
		if (!incoming?.isComplete) return;
		if (!incoming.isSynced && this.#served.isSynced) return;
		this.#served = incoming;
		this.#incoming = undefined;
	}
}

class Reading {
	readonly routes = new Map<string, Route>();
	isSynced = false;
	isComplete = false;
}

function parseRoute(text: string): Route {
	const route = JSON.parse(text) as Route;
	if (route.version !== 1)
		throw new Error(
			`the route is of version ${route.version}, this receive knows 1: upgrade receive before operator`,
		);
	return route;
}
