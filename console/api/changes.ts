import { batch, computed, effect, type Signal, signal } from "@preact/signals";
import type { ServerEvent } from "../../packages/service/event-stream.ts";
import type {
	Destination,
	Operation,
	Pipeline,
	Run,
	Source,
	TrackingPlan,
} from "../generated/types.ts";
import { namespace } from "../router/navigation.ts";
import type { ConnectionState } from "./event-stream.ts";
import { ApiProblem } from "./problem.ts";
import { api } from "./request.ts";
import {
	boundTo,
	can,
	isUnknownNamespace,
	loadSession,
	session,
} from "./session.ts";
import { followShared } from "./shared-stream.ts";

/** What the store holds, by plural. */
export interface LiveKinds {
	sources: Source;
	destinations: Destination;
	pipelines: Pipeline;
	runs: Run;
	trackingplans: TrackingPlan;
	/** The newest 500. */
	operations: Operation;
}

export type LiveKind = keyof LiveKinds;

/** With the path of each kind's list in the API. */
const paths: Record<LiveKind, string> = {
	sources: "sources",
	destinations: "destinations",
	pipelines: "pipelines",
	runs: "runs",
	trackingplans: "tracking-plans",
	operations: "operations",
};
const kinds = Object.keys(paths) as LiveKind[];

type ObjectMap<K extends LiveKind> = ReadonlyMap<string, LiveKinds[K]>;

const stores = Object.fromEntries(
	kinds.map((kind) => [kind, signal<ReadonlyMap<string, unknown>>(new Map())]),
) as { [K in LiveKind]: Signal<ObjectMap<K>> };
const connectionState = signal<ConnectionState>("connecting");
const complete = signal<ReadonlySet<LiveKind>>(new Set());

/** Of the stream that feeds the store. */
export const connection = computed(() => connectionState.value);

/** Whether the store holds all of the kind that was there when it began. */
export function isReady(kind: LiveKind): boolean {
	return complete.value.has(kind);
}

/** All objects of the kind in the namespace of the address, by name, as they are now. */
export function live<K extends LiveKind>(kind: K): ObjectMap<K> {
	return stores[kind].value;
}

/** What an answer of the API shows is newer than the stream; the stream follows within 2 s. */
export function remember<K extends LiveKind>(
	kind: K,
	object: LiveKinds[K],
): void {
	apply([{ type: "object", kind, object }]);
}

/** What the visitor may list and not watch: the store holds the first page of each, as it is every minute. */
export const unwatched = computed(() =>
	kinds.filter((kind) => can(kind, "list") && !can(kind, "watch")),
);

/** The API's largest page. */
const listedAtMost = 1_000;
const listAgainMs = 60_000;

/** The right may be given again, and then nothing else says so. */
export const refusedAgainMs = 15_000;
/** Another number follows anew. */
const round = signal(0);

/** Follows the changes of the visitor's namespace for as long as they are signed in. */
export function startStore(): void {
	let following = new AbortController();
	const key = computed(() => {
		const visitor = session.value;
		if (!visitor || boundTo.value || isUnknownNamespace.value) return "";
		// As the API asks: the stream is refused whole if one kind may not be watched.
		const seen = kinds.filter(
			(kind) => can(kind, "list") && can(kind, "watch"),
		);
		return JSON.stringify([
			...[visitor.user, namespace.value],
			...[seen, unwatched.value, round.value],
		]);
	});
	effect(() => {
		following.abort();
		following = new AbortController();
		const { signal: ended } = following;
		if (key.value === "") {
			connectionState.value = "connecting";
			return;
		}
		const [, , seen, listed] = JSON.parse(key.value) as [
			...[string, string],
			...[LiveKind[], LiveKind[]],
		];
		for (const kind of kinds) stores[kind].value = new Map();
		complete.value = new Set();
		const isListed = listAgainAndAgain(listed, ended);
		const isFollowing = seen.length > 0;
		if (isFollowing) void follow(seen, ended);
		else connectionState.value = "connecting";
		void isListed.then(() => {
			if (ended.aborted) return;
			completed(isFollowing ? listed : kinds);
			if (!isFollowing) connectionState.value = "live";
		});
	});
}

/** Settles once the store has a first page of each kind. */
async function listAgainAndAgain(
	listed: LiveKind[],
	ended: AbortSignal,
): Promise<void> {
	if (listed.length === 0) return;
	const list = async (kind: LiveKind) => {
		const { items } = await api.get<{ items: { name: string }[] }>(
			paths[kind],
			{ query: { limit: listedAtMost }, signal: ended },
		);
		const map = new Map(items.map((object) => [object.name, object]));
		(stores[kind] as Signal<ReadonlyMap<string, unknown>>).value = map;
		completed([kind]);
	};
	const listAll = async () => {
		try {
			await Promise.all(listed.map(list));
		} catch (error) {
			if (ended.aborted) return;
			if (!(error instanceof ApiProblem)) throw error;
			// The next round asks again; a right that is gone changes what is asked.
			void loadSession();
		}
	};
	const timer = setInterval(
		() => !document.hidden && void listAll(),
		listAgainMs,
	);
	ended.addEventListener("abort", () => clearInterval(timer));
	await listAll();
}

function completed(more: readonly LiveKind[]): void {
	complete.value = new Set([...complete.peek(), ...more]);
}

/** What the stream begins with, of each kind that isn't complete yet. */
type Arriving = Map<LiveKind, ObjectChange[]>;

/** What is there of a kind is replaced when its list is complete, so that a page doesn't blink when the connection comes back. */
async function follow(seen: LiveKind[], ended: AbortSignal): Promise<void> {
	const nothing = (): Arriving => new Map(seen.map((kind) => [kind, []]));
	let arriving = nothing();
	const take = (change: StoreChange): ObjectChange[] => {
		if (change.type === "ready") {
			completed(kinds.filter((kind) => !unwatched.peek().includes(kind)));
			return [];
		}
		const before = arriving.get(change.kind);
		if (change.type !== "listed") return before?.push(change) ? [] : [change];
		if (!before) return [];
		arriving.delete(change.kind);
		stores[change.kind].value = new Map();
		apply(before);
		completed([change.kind]);
		return [];
	};
	await followShared(
		"changes",
		{ kinds: seen.join(",") },
		{
			onState: (state) => {
				if (ended.aborted) return;
				if (state !== "live") arriving = nothing();
				connectionState.value = state;
				if (state !== "refused") return;
				void loadSession();
				setTimeout(() => !ended.aborted && round.value++, refusedAgainMs);
			},
			onEvents: (events) => {
				if (ended.aborted) return;
				batch(() => apply(events.flatMap(changesOf).flatMap(take)));
			},
			snapshot: () => snapshotOf(seen, arriving),
		},
		ended,
	);
}

/** What the store holds and what has arrived, as the stream would begin. */
function snapshotOf(seen: LiveKind[], arriving: Arriving): ServerEvent[] {
	const said = (event: string, data: object): ServerEvent => ({
		...{ event, data: JSON.stringify(data), id: undefined },
	});
	const events = seen.flatMap((kind) => {
		const arrived = arriving.get(kind);
		if (arrived) return arrived.map(({ type, ...data }) => said(type, data));
		const held = [...stores[kind].peek().values()];
		return [
			...held.map((object) => said("object", { kind, object })),
			said("listed", { kind }),
		];
	});
	return arriving.size === 0 ? [...events, said("ready", {})] : events;
}

type ObjectChange =
	| { type: "object"; kind: LiveKind; object: { name: string } }
	| { type: "deleted"; kind: LiveKind; name: string };

type StoreChange =
	| ObjectChange
	| { type: "listed"; kind: LiveKind }
	| { type: "ready" };

const changeTypes = ["object", "deleted", "listed", "ready"];

function changesOf({ event, data }: ServerEvent): StoreChange[] {
	if (!changeTypes.includes(event)) return [];
	const change = { type: event, ...JSON.parse(data) } as StoreChange;
	return change.type === "ready" || kinds.includes(change.kind) ? [change] : [];
}

/** One new map for each kind, however many objects changed. */
function apply(changes: readonly ObjectChange[]): void {
	batch(() => {
		for (const kind of kinds) {
			const own = changes.filter((one) => one.kind === kind);
			if (own.length === 0) continue;
			const map = new Map<string, unknown>(stores[kind].peek());
			for (const change of own)
				if (change.type === "object")
					map.set(change.object.name, change.object);
				else map.delete(change.name);
			(stores[kind] as Signal<ReadonlyMap<string, unknown>>).value = map;
		}
	});
}
