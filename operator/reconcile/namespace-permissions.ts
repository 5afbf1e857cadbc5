import {
	hasReason,
	type KubeClient,
} from "../../packages/kube/client/client.ts";
import {
	isAllowed,
	ownRules,
	ownUser,
} from "../../packages/kube/client/self-review.ts";
import { kinds } from "../../packages/kube/kinds.ts";
import type { Logger } from "../../packages/service/log.ts";
import { backoffMs, pause } from "../../packages/service/pause.ts";
import {
	lackMessage,
	missingPermissions,
	type NeededPermission,
} from "./permission-rules.ts";

/** How the operator stands in a namespace that it should serve. */
export type NamespaceStanding =
	| { type: "served" }
	/** `canRecordEvents`: whether the missing rules leave it those about Events. */
	| { type: "notPermitted"; message: string; canRecordEvents: boolean }
	/** There is no such namespace. */
	| { type: "missing" };

/**
 * What the operator may do in each namespace that it serves. The apiserver ends no watch when a permission goes, so it is asked
 * (SelfSubjectRulesReview): soon after {@link lookSoon}, and now and then without a reason. One request then stands for all that
 * would be refused, because whoever is refused waits until the namespace is served again.
 */
export class NamespacePermissions {
	readonly #client: KubeClient;
	readonly #role: string;
	readonly #log: Logger;
	/** By namespace; undefined is all of them. */
	#scopes: ReadonlyMap<string | undefined, Scope>;
	readonly #handlers: ((namespace: string | undefined) => void)[] = [];
	#user: string | undefined;

	/**
	 * @param client one that may ask without the lease.
	 * @param options.namespaces all if undefined.
	 * @param options.role the ClusterRole whose binding is needed.
	 */
	constructor(
		client: KubeClient,
		options: {
			namespaces: readonly string[] | undefined;
			role: string;
			log: Logger;
		},
	) {
		this.#client = client;
		this.#role = options.role;
		this.#log = options.log;
		this.#scopes = scopesOf(options);
	}

	/**
	 * Follows every namespace until the signal fires. Never throws.
	 * @param where in place of the namespaces of the constructor.
	 */
	async run(
		signal: AbortSignal,
		where?: { namespaces?: readonly string[] | undefined },
	): Promise<void> {
		if (where) this.#scopes = scopesOf(where);
		await Promise.all(
			[...this.#scopes].map(([namespace, scope]) =>
				this.#follow(namespace, scope, signal),
			),
		);
	}

	/** A namespace counts as served until the apiserver has said otherwise. */
	standingIn(namespace: string): NamespaceStanding {
		return this.#scopeOf(namespace)?.standing ?? { type: "served" };
	}

	/** What is missing in all namespaces, if the operator is to serve all; undefined if nothing is. */
	get missingEverywhere(): string | undefined {
		const standing = this.#scopes.get(undefined)?.standing;
		return standing?.type === "notPermitted" ? standing.message : undefined;
	}

	/** The namespaces that don't exist, and those without a permission. */
	namesOf(type: "missing" | "notPermitted"): string[] {
		return [...this.#scopes].flatMap(([namespace, { standing }]) =>
			standing.type === type ? [namespace ?? "*"] : [],
		);
	}

	/** Calls the handler when a namespace is served from now on, or no longer, or another rule is missing; undefined for all. */
	onChange(handler: (namespace: string | undefined) => void): void {
		this.#handlers.push(handler);
	}

	/** Something has changed that may concern permissions. */
	lookSoon(namespace: string): void {
		this.#scopeOf(namespace)?.lookSoon();
	}

	/** After a refusal there: how the operator stands. The answer is a second old at most. */
	async look(namespace: string): Promise<NamespaceStanding> {
		const scope = this.#scopeOf(namespace);
		if (!scope) return { type: "served" };
		if (performance.now() - scope.lookedMs > 1_000)
			await this.#lookIn(this.#scopes.has(undefined) ? undefined : namespace);
		// The apiserver's own memory of bindings may lag behind the refusal.
		if (scope.standing.type === "served") scope.lookSoon();
		return scope.standing;
	}

	/** After a refusal there: settles when it is worth trying again, at once if a missing permission was not the reason. */
	async whenPermitted(namespace: string, signal: AbortSignal): Promise<void> {
		await this.look(namespace);
		const scope = this.#scopeOf(namespace);
		while (scope && scope.standing.type !== "served" && !signal.aborted)
			await Promise.race([scope.changed, pause(60_000, signal)]);
	}

	#scopeOf(namespace: string): Scope | undefined {
		return this.#scopes.get(namespace) ?? this.#scopes.get(undefined);
	}

	async #follow(
		namespace: string | undefined,
		scope: Scope,
		signal: AbortSignal,
	): Promise<void> {
		while (!signal.aborted) {
			const changes = scope.changes;
			await this.#lookIn(namespace);
			if (changes === scope.changes) scope.quietLooks++;
			const isServed = scope.standing.type === "served";
			// Changes of bindings in a namespace are watched; those of a binding for all namespaces aren't.
			const maxMs = isServed && namespace ? servedMs : refusedMs;
			const backoff = { baseMs: 500, maxMs };
			const waitMs = backoffMs(scope.quietLooks, backoff);
			await scope.pause(waitMs, signal);
		}
	}

	/** Asks the apiserver, once for all who want to know at this moment. */
	#lookIn(namespace: string | undefined): Promise<void> {
		const scope = this.#scopes.get(namespace)!;
		scope.looking ??= this.#ask(namespace, scope)
			.then(
				(standing) => this.#note(namespace, scope, standing),
				// The apiserver is away, and the next look is soon.
				(err) =>
					this.#log.debug({ err, namespace }, "permissions are not known"),
			)
			.finally(() => {
				scope.lookedMs = performance.now();
				scope.looking = undefined;
			});
		return scope.looking;
	}

	async #ask(
		namespace: string | undefined,
		scope: Scope,
	): Promise<NamespaceStanding> {
		// Without a permission, one request of the two is enough most of the time.
		const isDue = performance.now() - scope.existedMs > existenceMs;
		if (namespace && (scope.standing.type !== "notPermitted" || isDue)) {
			if (!(await this.#exists(namespace))) return { type: "missing" };
			scope.existedMs = performance.now();
		}
		const missing = await this.#missingIn(namespace);
		if (missing.length === 0) return { type: "served" };
		this.#user ??= (await ownUser(this.#client)).username;
		return {
			type: "notPermitted",
			message: lackMessage({
				missing,
				namespace,
				user: this.#user,
				role: this.#role,
			}),
			canRecordEvents: !missing.some(
				({ resource, verb }) => resource === "events" && verb === "create",
			),
		};
	}

	async #exists(namespace: string): Promise<boolean> {
		try {
			return !!(await this.#client.get(kinds.namespace, namespace));
		} catch (error) {
			// Bindings made by hand may leave this out.
			if (!hasReason(error, "Forbidden")) throw error;
			return true;
		}
	}

	async #missingIn(namespace: string | undefined): Promise<NeededPermission[]> {
		// Without a namespace there is no review of rules: the rules of one that nobody has are those for all.
		const { rules, incomplete } = await ownRules(
			this.#client,
			namespace ?? "tidemill-no-such-namespace",
		);
		const missing = missingPermissions(rules);
		if (!incomplete) return missing;
		// A webhook that decides can't list what it allows, so it is asked about each rule.
		const refused: NeededPermission[] = [];
		for (const permission of missing) {
			const { verb, apiGroup: group, resource } = permission;
			const right = { verb, group, resource, ...(namespace && { namespace }) };
			if (!(await isAllowed(this.#client, right))) refused.push(permission);
		}
		return refused;
	}

	#note(
		namespace: string | undefined,
		scope: Scope,
		standing: NamespaceStanding,
	): void {
		const before = scope.standing;
		if (textOf(before) === textOf(standing)) return;
		scope.become(standing);
		// In a namespace, each resource says so. Of all namespaces, nothing may be read.
		if (namespace === undefined && standing.type === "notPermitted")
			this.#log.error({ reason: standing.message }, "no namespace is served");
		for (const handler of this.#handlers) handler(namespace);
	}
}

/** A change of a binding shows in its namespace's watch; of a ClusterRole it doesn't. */
const servedMs = 60_000;
/** Under one request in ten seconds: the wait is three quarters of it on average. */
const refusedMs = 15_000;
/** How often a namespace is looked for in which something else is wrong already. */
const existenceMs = 300_000;

function scopesOf({
	namespaces,
}: {
	namespaces?: readonly string[] | undefined;
}): ReadonlyMap<string | undefined, Scope> {
	const names = namespaces ?? [undefined];
	return new Map(names.map((name) => [name, new Scope()]));
}

class Scope {
	standing: NamespaceStanding = { type: "served" };
	looking: Promise<void> | undefined;
	lookedMs = -Infinity;
	/** When the namespace was last seen to exist. */
	existedMs = -Infinity;
	/** Looks since something happened. */
	quietLooks = 0;
	/** How often something happened. */
	changes = 0;
	#change = Promise.withResolvers<void>();
	#wake = new AbortController();

	/** Settles with the next change. */
	get changed(): Promise<void> {
		return this.#change.promise;
	}

	become(standing: NamespaceStanding): void {
		this.standing = standing;
		this.quietLooks = 0;
		this.#change.resolve();
		this.#change = Promise.withResolvers();
	}

	lookSoon(): void {
		this.changes++;
		this.quietLooks = 0;
		this.#wake.abort();
	}

	async pause(timeMs: number, signal: AbortSignal): Promise<void> {
		await pause(timeMs, AbortSignal.any([signal, this.#wake.signal]));
		if (this.#wake.signal.aborted) {
			this.#wake = new AbortController();
			// The apiserver's own memory of bindings lags behind the change, and one change seldom comes alone.
			await pause(500, signal);
		}
	}
}

function textOf(standing: NamespaceStanding): string {
	return standing.type === "notPermitted" ? standing.message : standing.type;
}
